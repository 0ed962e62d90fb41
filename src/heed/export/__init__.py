"""Write a trained model in the formats of other software: Hugging Face's `transformers` and CTranslate2."""
