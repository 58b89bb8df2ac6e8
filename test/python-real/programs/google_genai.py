"""An answer, a stream, JSON of a schema, and an answer in Vertex AI's mode. A refusal has the code of gw's error."""
import json
import os

from google import genai
from google.genai import errors, types

options = {
    "api_key": os.environ["OPENAI_API_KEY"],
    "http_options": types.HttpOptions(base_url=os.environ["OPENAI_BASE_URL"].removesuffix("/v1")),
}
client = genai.Client(**options)
schema = {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]}
try:
    print(client.models.generate_content(model="gemini-2.5-flash", contents="Hi").text)
    stream = client.models.generate_content_stream(model="gpt-5.2", contents="Hi")
    print("".join(chunk.text or "" for chunk in stream))
    config = types.GenerateContentConfig(
        system_instruction="Be brief",
        response_mime_type="application/json",
        response_json_schema=schema,
    )
    answer = client.models.generate_content(model="claude-sonnet-4-5", contents="Hi", config=config)
    print(json.loads(answer.text)["said"])
    vertex = genai.Client(vertexai=True, **options)
    print(vertex.models.generate_content(model="gemini-2.5-flash", contents="Hi").text)
except errors.APIError as e:
    print("refused", e.code, e.details["error"]["details"][0]["reason"])
