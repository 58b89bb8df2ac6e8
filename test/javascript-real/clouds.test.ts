import { expect, test } from 'vitest';
import { startClouds } from '../providers/clouds/support/clouds.ts';
import { json } from '../support/scripts.ts';
import { either } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, text } from '../wire/support/messages-shapes.ts';
import { loadSdk } from './load-sdk.ts';

interface Messages {
  messages: {
    countTokens(request: object): Promise<{ input_tokens: number }>;
    create(request: object): Promise<{ content: object[] }>;
    stream(request: object): { finalMessage(): Promise<{ content: object[] }> };
  };
}
interface AwsSdk {
  BedrockRuntimeClient: new (
    options: object,
  ) => { send(command: object): Promise<{ body: AsyncIterable<{ chunk?: { bytes: Uint8Array } }> }> };
  InvokeModelWithResponseStreamCommand: new (input: object) => object;
}

const SERVED = 'claude-opus-4-8';
const MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const QUESTION = { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
const HELLO = [{ type: 'text', text: 'Hello you' }];

async function start() {
  const gateway = await startClouds(
    { bedrock: { region: 'us-east-1' }, vertex: { project: 'ours', keyEnv: 'TOKEN' } },
    { credentials: { bedrock: 'key', azure: 'key' }, env: { TOKEN: 'token' } },
  );
  const plain = messageBody([text('Hello you')]);
  const stream = messageStream([text('Hello you')]);
  gateway.upstream.script((exchange) =>
    /stream/i.test(exchange.request.path)
      ? either(stream, stream)(exchange)
      : either(plain, stream)(exchange),
  );
  return gateway;
}

test("Anthropic's client of Bedrock has gw's key as that of AWS", async () => {
  const { AnthropicBedrock } = await loadSdk<{ AnthropicBedrock: new (options: object) => Messages }>(
    '@anthropic-ai/bedrock-sdk',
  );
  const gateway = await start();
  const client = new AnthropicBedrock({
    ...{ awsRegion: 'us-east-1', baseURL: gateway.origin, apiKey: gateway.key, maxRetries: 0 },
  });
  expect((await client.messages.create({ model: MODEL, ...QUESTION })).content).toMatchObject(HELLO);
  const final = await client.messages.stream({ model: MODEL, ...QUESTION }).finalMessage();
  expect(final.content).toMatchObject(HELLO);
  expect(await gateway.settled(2)).toMatchObject([{ provider: 'bedrock' }, { provider: 'bedrock' }]);
});

test("Anthropic's client of Vertex AI has gw's key in a header", async () => {
  const { AnthropicVertex } = await loadSdk<{ AnthropicVertex: new (options: object) => Messages }>(
    '@anthropic-ai/vertex-sdk',
  );
  const gateway = await start();
  const client = new AnthropicVertex({
    ...{ projectId: 'theirs', region: 'global', baseURL: gateway.url, maxRetries: 0 },
    authClient: { getRequestHeaders: async () => new Headers() },
    defaultHeaders: { 'x-gw-key': gateway.key },
  });
  const model = 'claude-sonnet-4-5@20250929';
  expect((await client.messages.create({ model, ...QUESTION })).content).toMatchObject(HELLO);
  expect(await gateway.settled(1)).toMatchObject([{ provider: 'vertex', model }]);
});

/** Foundry's client by a key, which it sends as x-api-key, or by tokens of Entra ID. */
test.each([
  ['a key', (key: string) => ({ apiKey: key })],
  ['a token of Entra ID', (key: string) => ({ azureADTokenProvider: async () => key })],
])("Anthropic's client of Foundry has gw's key as %s", async (_, credential) => {
  const { AnthropicFoundry } = await loadSdk<{ AnthropicFoundry: new (options: object) => Messages }>(
    '@anthropic-ai/foundry-sdk',
  );
  const gateway = await start();
  const { url } = gateway.upstream;
  gateway.configure({ providers: { azure: { baseUrl: `${url}/openai/v1`, deployments: { work: SERVED } } } });
  const client = new AnthropicFoundry({
    ...{ baseURL: `${gateway.origin}/anthropic`, maxRetries: 0, ...credential(gateway.key) },
  });
  const request = { model: 'work', ...QUESTION };
  expect((await client.messages.create(request)).content).toMatchObject(HELLO);
  expect((await client.messages.stream(request).finalMessage()).content).toMatchObject(HELLO);
  gateway.upstream.queue(json(200, { input_tokens: 42 }));
  const { max_tokens: _limit, ...counted } = request;
  expect(await client.messages.countTokens(counted)).toMatchObject({ input_tokens: 42 });
  const own = { provider: 'azure', model: 'work', outcome: 'ok' };
  const records = await gateway.settled(3);
  expect(records).toMatchObject([own, own, own]);
  expect(records[0]?.costNanoUsd).toBeGreaterThan(0);
  const paths = gateway.upstream.requests.map(({ path }) => path.replace(/^.*(?=\/anthropic)/, ''));
  const messages = '/anthropic/v1/messages';
  expect(paths).toEqual([messages, messages, `${messages}/count_tokens`]);
});

test('the SDK of AWS reads a stream, by HTTP/1.1', async () => {
  const { NodeHttpHandler } = await loadSdk<{ NodeHttpHandler: new () => object }>(
    '@smithy/node-http-handler',
  );
  const aws = await loadSdk<AwsSdk>('@aws-sdk/client-bedrock-runtime');
  const gateway = await start();
  const client = new aws.BedrockRuntimeClient({
    ...{ region: 'us-east-1', endpoint: gateway.origin, token: { token: gateway.key } },
    authSchemePreference: ['httpBearerAuth'],
    requestHandler: new NodeHttpHandler(),
  });
  const body = JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', ...QUESTION });
  const answer = await client.send(
    new aws.InvokeModelWithResponseStreamCommand({ modelId: MODEL, body, contentType: 'application/json' }),
  );
  const types: string[] = [];
  for await (const { chunk } of answer.body)
    types.push(JSON.parse(Buffer.from(chunk?.bytes ?? []).toString()).type);
  expect(types.at(0)).toBe('message_start');
  expect(types.at(-1)).toBe('message_stop');
});
