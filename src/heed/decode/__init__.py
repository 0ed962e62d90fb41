"""From a step function to the best sequences. Search works on NumPy arrays and knows no model class.

Shapes as in `heed.model`; W is the number of hypotheses of a sentence. Only `model_step` and `candidates` use torch.
"""
