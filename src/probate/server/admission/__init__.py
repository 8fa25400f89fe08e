"""Admission: what may change or refuse a write before it is stored. Each mechanism has its own file."""
