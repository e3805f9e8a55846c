"""moto's S3 server on loopback, and the environment that leads libraries to it."""

from contextlib import contextmanager


@contextmanager
def serving_s3():
    """Serve S3 in a thread; give the environment variables by which it is found."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing-to-hide",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    finally:
        server.stop()


def bucket_client(endpoint):
    """boto3's client of that server."""
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=endpoint["AWS_ENDPOINT_URL"],
        aws_access_key_id=endpoint["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=endpoint["AWS_SECRET_ACCESS_KEY"],
        region_name=endpoint["AWS_DEFAULT_REGION"],
    )
