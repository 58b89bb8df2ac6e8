"""LiteLLM's own client of Bedrock, by Converse and by InvokeModel, plain and streamed."""
import os

import litellm

os.environ["AWS_BEARER_TOKEN_BEDROCK"] = os.environ["OPENAI_API_KEY"]
request = {
    "messages": [{"role": "user", "content": "Hi"}],
    "max_tokens": 100,
    "aws_region_name": "us-east-1",
    "aws_bedrock_runtime_endpoint": os.environ["ANTHROPIC_BASE_URL"],
}
for way in ("converse", "invoke"):
    model = f"bedrock/{way}/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    print(litellm.completion(model=model, **request).choices[0].message.content)
    chunks = litellm.completion(model=model, stream=True, **request)
    print("".join(chunk.choices[0].delta.content or "" for chunk in chunks))
