"""What PyTorch has no quick kernel for, in C: a compiler makes it when first needed, and keeps it for the next time.

Every function here is a plain loop over numbers. All but the 8-bit products have a counterpart in PyTorch, which is
used wherever there is no compiler, another device or another precision. Both give the same to float tolerance
(tests/kernels).
"""
