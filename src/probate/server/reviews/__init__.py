"""Questions that are asked by creating an object of which nothing is kept: who am I, may I, may they, whose is this token.

access     SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview
holdings   SelfSubjectRulesReview: all that one may do in a namespace
people     SelfSubjectReview, TokenReview
selectors  of which objects is asked
reading    what they share: the question in, the answer out
"""
