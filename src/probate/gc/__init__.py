"""Ownership and its consequences: decide (pure), collector (the loop), operations (the effects), circles, plan, explain."""
