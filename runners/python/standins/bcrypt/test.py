import bcrypt
bcrypt.hashpw(b'Kk4DQuMMfZL9o', b'$2b$04$cVWp4XaNU8a4v1uMRum2SO'), bcrypt.checkpw(b'x', bcrypt.hashpw(b'x', bcrypt.gensalt(4)))
