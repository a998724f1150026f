"""The smallest server of gRPC in Python: each call is answered with 600 bytes, which is what an
execution has. Prints its port, and serves until stdin ends."""

import concurrent.futures
import sys

import grpc

ANSWER = bytes([0x1a, 0xd5, 0x04]) + 597 * b"x"
OPTIONS = [("grpc.so_reuseport", 0), ("grpc.max_concurrent_streams", 100)]


class Constants(grpc.GenericRpcHandler):
    handler = grpc.unary_unary_rpc_method_handler(lambda request, context: ANSWER)

    def service(self, handler_call_details):
        return self.handler


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), options=OPTIONS)
    server.add_generic_rpc_handlers((Constants(),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
