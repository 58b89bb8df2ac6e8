"""Converse and InvokeModel, and a stream of each. A refusal has the name of AWS's error."""
import json
import os

import boto3
from botocore.exceptions import ClientError

# botocore sends no bearer token without TLS.
client = boto3.client(
    "bedrock-runtime",
    region_name="us-east-1",
    endpoint_url=os.environ["ANTHROPIC_BASE_URL"],
    aws_access_key_id=os.environ["OPENAI_API_KEY"],
    aws_secret_access_key="any",
)
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
converse = {
    "modelId": MODEL,
    "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
    "system": [{"text": "Be kind."}, {"cachePoint": {"type": "default"}}],
    "inferenceConfig": {"maxTokens": 100},
}
invoke = json.dumps(
    {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Hi"}],
    }
)
try:
    answer = client.converse(**converse)
    assert answer["usage"]["outputTokens"] > 0 and answer["stopReason"] == "end_turn"
    print(answer["output"]["message"]["content"][0]["text"])
    events = list(client.converse_stream(**converse)["stream"])
    assert events[-1]["metadata"]["usage"]["outputTokens"] > 0
    print("".join(e["contentBlockDelta"]["delta"]["text"] for e in events if "contentBlockDelta" in e))
    print(json.load(client.invoke_model(modelId=MODEL, body=invoke)["body"])["content"][0]["text"])
    stream = client.invoke_model_with_response_stream(modelId=MODEL, body=invoke)["body"]
    chunks = [json.loads(event["chunk"]["bytes"]) for event in stream]
    print("".join(c["delta"].get("text", "") for c in chunks if c["type"] == "content_block_delta"))
except ClientError as e:
    print("refused", e.response["Error"]["Code"], e.response["Error"]["Message"])
