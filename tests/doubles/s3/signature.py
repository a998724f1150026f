"""Whether a request is signed as Signature Version 4 wants it, in its headers or in its URL.

Written from Amazon's description of the algorithm with hmac and hashlib alone. What is wrong is
refused with the code that S3 has for it.
"""

import datetime
import hashlib
import hmac
import re
import urllib.parse

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
SKEW_S = 15 * 60
EXPIRES_S_MAX = 7 * 24 * 3600


class Refused(Exception):
    """A request that is not done: its status, S3's code, and words."""

    def __init__(self, status, code, words):
        super().__init__(f"{status} {code}: {words}")
        self.status, self.code, self.words = status, code, words


def encode(text, safe="-_.~"):
    return urllib.parse.quote(text, safe=safe)


def canonical_query(query, without=()):
    """Parameters in the order of their encoded names, those in `without` left out."""
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    return "&".join(sorted(f"{encode(name)}={encode(value)}" for name, value in pairs
                           if name not in without))


def signing_key(secret, day, region, service="s3"):
    key = b"AWS4" + secret.encode()
    for step in (day, region, service, "aws4_request"):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return key


def signature(secret, moment, region, canonical):
    """The signature of a canonical request at a moment (20261122T080000Z)."""
    day = moment[:8]
    words = "\n".join([ALGORITHM, moment, f"{day}/{region}/s3/aws4_request",
                       hashlib.sha256(canonical.encode()).hexdigest()])
    return hmac.new(signing_key(secret, day, region), words.encode(), hashlib.sha256).hexdigest()


def canonical_request(method, path, query, headers, names, digest):
    """`headers` by their names in small letters; `names` are those that are signed, in order."""
    lines = [f"{name}:{' '.join(headers.get(name, '').split())}" for name in names]
    decoded = urllib.parse.unquote(path)
    return "\n".join([method, encode(decoded, "/-_.~"), query, *lines, "", ";".join(names), digest])


def moment_of(text):
    try:
        return datetime.datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(
            tzinfo=datetime.timezone.utc)
    except ValueError:
        raise Refused(403, "AccessDenied", "the date is no date of Amazon's") from None


class Signer:
    """Who may sign: one key, in one region."""

    def __init__(self, access, secret, token, region):
        self.access, self.secret, self.token, self.region = access, secret, token, region

    def check(self, method, path, query, headers, body, now=None):
        """Raises Refused unless the request is signed by the key, and now."""
        now = now or datetime.datetime.now(datetime.timezone.utc)
        parameters = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if "X-Amz-Signature" in parameters:
            self.check_url(method, path, query, headers, parameters, now)
        elif "authorization" in headers:
            self.check_headers(method, path, query, headers, body, now)
        else:
            raise Refused(403, "AccessDenied", "Access Denied")

    def check_headers(self, method, path, query, headers, body, now):
        match = re.fullmatch(ALGORITHM + r" Credential=([^,]+), ?SignedHeaders=([^,]+), "
                             r"?Signature=([0-9a-f]{64})", headers["authorization"])
        if match is None:
            raise Refused(400, "AuthorizationHeaderMalformed", "the header Authorization is none")
        credential, names, given = match.groups()
        digest = headers.get("x-amz-content-sha256", "")
        if not digest:
            raise Refused(400, "InvalidRequest", "x-amz-content-sha256 is missing")
        if digest not in (UNSIGNED, hashlib.sha256(body).hexdigest()):
            raise Refused(400, "XAmzContentSHA256Mismatch", "the body is another one")
        moment = headers.get("x-amz-date", "")
        if abs((now - moment_of(moment)).total_seconds()) > SKEW_S:
            raise Refused(403, "RequestTimeTooSkewed", "the clocks are too far apart")
        self.check_credential(credential, moment, headers.get("x-amz-security-token", ""))
        self.check_names(names.split(";"), headers)
        self.compare(given, moment, canonical_request(
            method, path, canonical_query(query), headers, names.split(";"), digest))

    def check_url(self, method, path, query, headers, parameters, now):
        moment, names = parameters.get("X-Amz-Date", ""), parameters.get("X-Amz-SignedHeaders", "")
        expires = parameters.get("X-Amz-Expires", "")
        if not expires.isdigit() or not 1 <= int(expires) <= EXPIRES_S_MAX:
            raise Refused(400, "AuthorizationQueryParametersError", "X-Amz-Expires is wrong")
        age = (now - moment_of(moment)).total_seconds()
        if age > int(expires) or age < -SKEW_S:
            raise Refused(403, "AccessDenied", "Request has expired")
        self.check_credential(parameters.get("X-Amz-Credential", ""), moment,
                              parameters.get("X-Amz-Security-Token", ""))
        self.check_names(names.split(";"), headers)
        self.compare(parameters["X-Amz-Signature"], moment, canonical_request(
            method, path, canonical_query(query, ("X-Amz-Signature",)), headers,
            names.split(";"), UNSIGNED))

    def check_credential(self, credential, moment, token):
        access, _, scope = credential.partition("/")
        if access != self.access:
            raise Refused(403, "InvalidAccessKeyId", "nobody has this access key")
        if scope != f"{moment[:8]}/{self.region}/s3/aws4_request":
            raise Refused(400, "AuthorizationHeaderMalformed",
                          f"the credential is not of {self.region}, s3 and the date")
        if token != self.token:
            raise Refused(403, "InvalidToken", "the session's token is another one")

    @staticmethod
    def check_names(names, headers):
        must = {"host"} | {name for name in headers if name.startswith("x-amz-")}
        if names != sorted(names) or not must <= set(names):
            raise Refused(403, "AccessDenied", "there are headers that were not signed")

    def compare(self, given, moment, canonical):
        if not hmac.compare_digest(given, signature(self.secret, moment, self.region, canonical)):
            raise Refused(403, "SignatureDoesNotMatch", "the signature is of another secret")
