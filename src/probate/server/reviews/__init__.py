"""Reviews: requests that create an object which is answered and not stored, such as TokenReview and SubjectAccessReview.

access_review      SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview
rules_review       SelfSubjectRulesReview: everything that a user may do in a namespace
identity_reviews   SelfSubjectReview, TokenReview
review_selectors   validates the selectors in `resourceAttributes`
review_body        what they share: reads the review, writes the answer
"""
