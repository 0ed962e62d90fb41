"""A trained model in the forms other software reads, and CTranslate2 as an engine to translate with."""
