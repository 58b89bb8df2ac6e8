"""Messages and a stream of them. A refusal has the code of gw's error."""
import anthropic

client = anthropic.Anthropic()
request = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hi"}],
}
try:
    print(client.messages.create(**request).content[0].text)
    with client.messages.stream(**request) as stream:
        print("".join(stream.text_stream))
except anthropic.APIStatusError as e:
    print("refused", e.status_code, e.body["error"]["code"])
