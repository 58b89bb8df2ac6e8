"""Chat completions, a stream of them, and responses. A refusal has the code of gw's error."""
import openai

client = openai.OpenAI()
messages = [{"role": "user", "content": "Hi"}]
try:
    print(client.chat.completions.create(model="gpt-4.1", messages=messages).choices[0].message.content)
    stream = client.chat.completions.create(
        model="gpt-4.1", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    print("".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices))
    print(client.responses.create(model="gpt-4.1", input="Hi").output_text)
except openai.APIStatusError as e:
    print("refused", e.status_code, e.code)
