"""Admission policies: what they say, and what follows from it for one write. Pure; who reads and asks is `server.policies`.

environment    what their expressions may speak of
compiling      a policy's expressions, ready to be evaluated
evaluating     what a validating policy says of a write
mutating       what a mutating policy makes of an object
checking       what is wrong with a policy, and what its types do not fit
"""
