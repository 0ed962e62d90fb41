"""The Transformer without torch: NumPy arrays and the C kernels, for search on a CPU.

Names of arrays end with their shape, as in `heed.model`; N is a number of layers or of packed positions.
"""
