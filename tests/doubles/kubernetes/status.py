"""Errors as the API server says them: a Status object, its HTTP code and reason."""

REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound",
           405: "MethodNotAllowed", 409: "Conflict", 410: "Expired", 413: "RequestEntityTooLarge",
           415: "UnsupportedMediaType", 422: "Invalid", 429: "TooManyRequests",
           500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}


class Refusal(Exception):
    """A call is answered by an error."""

    def __init__(self, code, message, reason=None, headers=None, **details):
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = REASONS.get(code, "") if reason is None else reason
        self.headers = headers or {}
        self.details = details

    def document(self):
        document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": self.message, "reason": self.reason, "code": self.code}
        return {**document, "details": self.details} if self.details else document


def not_found(kind, name):
    return Refusal(404, f'{kind.plural} "{name}" not found', name=name, kind=kind.plural)


def expired(message="The resourceVersion for the provided watch is too old."):
    return Refusal(410, message)


def success(**details):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": details}
