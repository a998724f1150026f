"""How connections break: what a caller can't tell from a network that fails."""

import asyncio
import socket
import struct

from aiohttp import web

# The status that counters keep of a call that nobody got an answer to.
NO_ANSWER = 499


def reset(request):
    """Ends the connection by a reset, as a proxy that dies does."""
    transport = request.transport
    if transport is not None:
        raw = transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response(status=NO_ANSWER)


def is_gone(request):
    return request.transport is None or request.transport.is_closing()


async def silence(request):
    """Says nothing until the caller has had enough."""
    while not is_gone(request):
        await asyncio.sleep(0.1)
    return web.Response(status=NO_ANSWER)


async def lose_answer(request, body, how):
    if how == "hang":
        return await silence(request)
    if how == "half":
        response = web.StreamResponse()
        response.content_type = "application/json"
        response.content_length = len(body)
        await response.prepare(request)
        await response.write(body[:len(body) // 2])
        reset(request)
        return response
    if request.transport is not None:
        request.transport.close()
    return web.Response(status=NO_ANSWER)
