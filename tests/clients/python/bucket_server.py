"""An S3 server with one bucket, which checks every signature from the moment it has a user.

Prints a line with its address, the access key and its secret. Then answers each line of its input with one of its own: `keys`
lists what the bucket holds, `uploads` what was begun in parts and not finished, `remove` deletes the bucket with all in it,
`damage KEY` changes the last byte of an object, `lose KEY` deletes one. The end of the input ends it.
"""

import json
import logging
import os
import sys

# Requests of a user that has no rights yet: the user, its key, its policy, the bucket.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"

import boto3
from moto.server import ThreadedMotoServer

BUCKET = sys.argv[1]
logging.getLogger("werkzeug").setLevel(logging.ERROR)


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"

    def client(service, key="none", secret="none"):
        options = {"aws_access_key_id": key, "aws_secret_access_key": secret, "region_name": "us-east-1"}
        return boto3.client(service, endpoint_url=address, **options)

    iam = client("iam")
    iam.create_user(UserName="gatehouse")
    made = iam.create_access_key(UserName="gatehouse")["AccessKey"]
    may = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="gatehouse", PolicyName="all", PolicyDocument=json.dumps(may))
    key, secret = made["AccessKeyId"], made["SecretAccessKey"]
    bucket = client("s3", key, secret)
    bucket.create_bucket(Bucket=BUCKET)
    print(json.dumps({"address": address, "key": key, "secret": secret}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(bucket, line.strip())), flush=True)


def answer(bucket, wanted):
    if wanted == "uploads":
        return [one["Key"] for one in bucket.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]
    word, _, key = wanted.partition(" ")
    if word == "damage":
        body = bytearray(bucket.get_object(Bucket=BUCKET, Key=key)["Body"].read())
        body[-1] ^= 1
        bucket.put_object(Bucket=BUCKET, Key=key, Body=bytes(body))
    if word == "lose":
        bucket.delete_object(Bucket=BUCKET, Key=key)
    keys = [one["Key"] for one in bucket.list_objects_v2(Bucket=BUCKET).get("Contents", [])]
    if wanted == "remove":
        for key in keys:
            bucket.delete_object(Bucket=BUCKET, Key=key)
        bucket.delete_bucket(Bucket=BUCKET)
    return keys


main()
