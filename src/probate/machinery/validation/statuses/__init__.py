"""What may stand in a status: one module for the kinds that are written by the same ones.

Controllers write statuses, and most of what they write is right. These are the few things that others rely on so much that a status
without them is refused: numbers that add up, addresses that are some, what ended staying so.
"""
