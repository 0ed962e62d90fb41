"""The paper, section 3. Shapes are in the names of tensors:

B batch · S source length · T target length · L query length · M memory length (what is attended to) ·
D d_model · F d_ff · H heads · K d_k · C d_v · V vocabulary · W beam width · R rows = B x W · 1 broadcast.
"""
