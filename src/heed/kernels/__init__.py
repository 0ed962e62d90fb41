"""C kernels for what PyTorch has no fast kernel for, compiled into the wheel or when first needed.

Every function is a plain loop over numbers. Apart from the 8-bit products, each has a counterpart in PyTorch, which is
used without a compiler, on another device and in another precision. Both give the same result up to float tolerance
(tests/kernels).
"""
