"""Keys of a provider, and tokens that they sign: right ones, and such as an attacker makes up."""

import base64
import hashlib
import hmac
import json

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value, size=None):
    return encode(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


class Keys:
    """A key of each kind, by its id; those of another provider have the same ids."""

    def __init__(self):
        self.generation = 0
        self.rotate()

    def rotate(self, keeps_old=False):
        """New keys under new ids; the old ones are published for a while, or are not."""
        old = dict(self.items) if keeps_old else {}
        self.generation += 1
        self.items = {**old, f"rsa-{self.generation}": self.rsa(),
                      f"ec-{self.generation}": ec.generate_private_key(ec.SECP256R1())}

    @staticmethod
    def rsa(bits=2048):
        return rsa.generate_private_key(public_exponent=65537, key_size=bits)

    def id_of(self, algorithm):
        kind = "ec" if algorithm == "ES256" else "rsa"
        return f"{kind}-{self.generation}"

    def published(self):
        return {"keys": [self.public(id, key) for id, key in self.items.items()]}

    @staticmethod
    def public(id, key):
        numbers = key.public_key().public_numbers()
        if isinstance(key, rsa.RSAPrivateKey):
            return {"kty": "RSA", "kid": id, "use": "sig", "alg": "RS256", "n": number(numbers.n),
                    "e": number(numbers.e)}
        return {"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "alg": "ES256",
                "x": number(numbers.x, 32), "y": number(numbers.y, 32)}


def sign(algorithm, key, said):
    if algorithm == "RS256":
        return key.sign(said, padding.PKCS1v15(), hashes.SHA256())
    if algorithm == "PS256":
        return key.sign(said, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())
    if algorithm == "ES256":
        pair = utils.decode_dss_signature(key.sign(said, ec.ECDSA(hashes.SHA256())))
        return b"".join(each.to_bytes(32, "big") for each in pair)
    if algorithm == "HS256":
        # The public key as a secret, which everybody has.
        secret = key.public_key().public_bytes(serialization.Encoding.PEM,
                                               serialization.PublicFormat.SubjectPublicKeyInfo)
        return hmac.digest(secret, said, hashlib.sha256)
    return b""


def mint(keys, claims, alg="RS256", kid=None, forged=False, header=None, signed_as=None):
    """A token; `forged`: signed by a key of the same id that is not the provider's."""
    by = signed_as or alg
    id = kid or keys.id_of(by)
    key = keys.items.get(id)
    kind = ec.EllipticCurvePrivateKey if by == "ES256" else rsa.RSAPrivateKey
    if not isinstance(key, kind):
        key = keys.items[keys.id_of(by)]
    if forged:
        key = ec.generate_private_key(ec.SECP256R1()) if by == "ES256" else Keys.rsa()
    head = {"alg": alg, "kid": id, "typ": "JWT", **(header or {})}
    said = ".".join(encode(json.dumps({name: value for name, value in part.items()
                                       if value is not None}).encode())
                    for part in (head, claims)).encode()
    return (said + b"." + encode(sign(by, key, said)).encode()).decode()
