"""Search for the best sequences with a step function. It works on NumPy arrays and knows no model class.

Shapes are named as in `heed.model`; W is the number of hypotheses per sentence. Only `model_step` and `candidates` use
torch.
"""
