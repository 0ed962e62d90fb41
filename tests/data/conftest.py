from hypothesis import settings

# A shared or busy machine is slow at times; how slow is not what these tests are about.
settings.register_profile("heed", deadline=None)
settings.load_profile("heed")
