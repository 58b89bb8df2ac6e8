import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { answer } from '../../support/chat-scripts.ts';
import { json } from '../../support/scripts.ts';
import { either, events } from '../../wire/support/event-scripts.ts';
import { messageBody, messageStream, messageUsage, text } from '../../wire/support/messages-shapes.ts';
import { awsProfile, isSignedBy, signedOnly } from './support/aws.ts';
import { ask, headerIn, QUESTION, startClouds } from './support/clouds.ts';

const REGION = 'eu-central-1';
const CLAUDE = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
const BEARER = { credentials: { bedrock: 'bedrock-api-key' } };
const ANNA = { id: 'AKIDANNA', secret: 'secret-anna', token: 'token-anna' };
const BERT = { id: 'AKIDBERT', secret: 'secret-bert', token: 'token-bert' };
/** AWS answers with the name that Anthropic has for the model. */
const hello = messageBody([text('Hello')], {
  model: 'claude-sonnet-4-5-20250929',
  usage: messageUsage(1000, 100),
});

describe('by a key', () => {
  test('Claude is reached by its own API, and costs a tenth more in a region than in global', async () => {
    const gateway = await startClouds({ bedrock: { region: REGION } }, BEARER);
    gateway.upstream.script(either(hello, messageStream([text('Hello')])));
    for (const model of [`bedrock/global.${CLAUDE}`, `eu.${CLAUDE}`]) {
      const response = await ask(gateway, model);
      expect(response.status).toBe(200);
      expect(JSON.parse(response.text())).toEqual(hello);
    }
    const [first] = gateway.upstream.requests;
    expect(first?.path).toBe('/anthropic/v1/messages');
    expect(first && headerIn(first, 'authorization')).toBe('Bearer bedrock-api-key');
    expect(first && headerIn(first, 'x-api-key')).toBeUndefined();
    expect(JSON.parse(first?.body.toString() ?? '')).toMatchObject({ model: `global.${CLAUDE}` });
    const dollars = (1000 * 3 + 100 * 15) / 1e6;
    const [global, regional] = await gateway.records();
    expect(global).toMatchObject({ provider: 'bedrock', model: `global.${CLAUDE}` });
    expect(global?.costNanoUsd).toBe(Math.round(dollars * 1e9));
    expect(regional?.costNanoUsd).toBe(Math.round(dollars * 1.1 * 1e9));
  });

  test('another model is reached by chat completions', async () => {
    const gateway = await startClouds({ bedrock: { region: REGION } }, BEARER);
    gateway.upstream.script(answer('Hello'));
    const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    const model = 'openai.gpt-oss-120b-1:0';
    const completion = await client.chat.completions.create({ model, messages: QUESTION });
    expect(completion.choices[0]?.message.content).toBe('Hello');
    expect(gateway.upstream.requests[0]?.path).toBe('/openai/v1/chat/completions');
  });

  test("a client of OpenAI's API has Claude, translated, streamed", async () => {
    const gateway = await startClouds({ bedrock: { region: REGION, surface: 'mantle' } }, BEARER);
    gateway.upstream.script(events(messageStream([text('Hello you')])));
    const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    const stream = client.chat.completions.stream({
      model: 'bedrock/anthropic.claude-opus-4-8',
      messages: QUESTION,
    });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe('Hello you');
    expect(gateway.upstream.requests[0]?.path).toBe('/anthropic/v1/messages');
  });

  test('an application profile is billed as the model that its ARN stands for', async () => {
    const arn = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc';
    const gateway = await startClouds(
      { bedrock: { region: REGION, deployments: { [arn]: `eu.${CLAUDE}` } } },
      BEARER,
    );
    gateway.upstream.script(json(200, hello));
    expect((await ask(gateway, `bedrock/${arn}`)).status).toBe(200);
    expect(gateway.upstream.requests[0]?.path).toBe('/anthropic/v1/messages');
    const [record] = await gateway.records();
    expect(record?.costNanoUsd).toBe(Math.round((1000 * 3.3 + 100 * 16.5) * 1000));
  });

  test('one that nothing is known of is Claude to clients of its API, cache marks and all', async () => {
    const arn = 'arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:application-inference-profile/abc';
    const gateway = await startClouds({ bedrock: { region: 'us-gov-west-1' } }, BEARER);
    gateway.upstream.script(either(hello, messageStream([text('Hello')])));
    const marked = [{ ...text('Hi'), cache_control: { type: 'ephemeral' } }];
    const messages = [{ role: 'user', content: marked }];
    expect((await ask(gateway, `bedrock/${arn}`, { messages })).status).toBe(200);
    const [request] = gateway.upstream.requests;
    expect(request?.path).toBe('/anthropic/v1/messages');
    expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ model: arn, messages });
    // No name says what it costs.
    await gateway.setBudget({ capUsd: 1, period: 'daily' });
    const refused = await ask(gateway, `bedrock/${arn}`, { messages });
    expect([refused.status, refused.text()]).toEqual([402, expect.stringContaining('gw prices set')]);
  });

  test("errors of AWS's own are in the words of the client's API", async () => {
    const gateway = await startClouds({ bedrock: { region: REGION } }, BEARER);
    const refusals = [
      {
        status: 429,
        type: 'ThrottlingException',
        message: 'Too many requests',
        expected: 'rate_limit_error',
      },
      { status: 403, type: 'AccessDeniedException', message: 'Not authorized', expected: 'permission_error' },
      { status: 404, type: 'ResourceNotFoundException', message: 'No model', expected: 'not_found_error' },
      { status: 400, type: 'ValidationException', message: 'Bad', expected: 'invalid_request_error' },
    ];
    for (const { status, type, message, expected } of refusals) {
      gateway.upstream.queue(json(status, { message }, { 'x-amzn-errortype': type }));
      const response = await ask(gateway, `bedrock/global.${CLAUDE}`);
      expect(response.status).toBe(status);
      expect(JSON.parse(response.text())).toEqual({ type: 'error', error: { type: expected, message } });
    }
    gateway.upstream.queue(json(400, { message: 'Input is too long for requested model.' }));
    const response = await ask(gateway, `bedrock/global.${CLAUDE}`);
    expect(response.text()).toContain('prompt is too long');
  });
});

describe('by a signature', () => {
  const SCOPE = { region: REGION, service: 'bedrock' };

  test.each([
    { surface: 'runtime' as const, service: 'bedrock' },
    { surface: 'mantle' as const, service: 'bedrock-mantle' },
  ])('another implementation finds the same one: $surface', async ({ surface, service }) => {
    awsProfile('work').write(ANNA);
    const gateway = await startClouds({ bedrock: { region: REGION, profile: 'work', surface } });
    gateway.upstream.script(json(200, hello));
    const headers = { 'x-amz-date': '20200101T000000Z', 'x-amz-security-token': 'of-the-client' };
    expect((await ask(gateway, `bedrock/global.${CLAUDE}`, {}, { headers })).status).toBe(200);
    const [request] = gateway.upstream.requests;
    if (!request) throw new Error('nothing arrived');
    expect(await isSignedBy(request, ANNA, { region: REGION, service })).toBe(true);
    expect(await isSignedBy(request, BERT, { region: REGION, service })).toBe(false);
    expect(await isSignedBy(request, ANNA, { region: 'us-east-1', service })).toBe(false);
    const changed = { ...request, body: Buffer.from(`${request.body} `) };
    expect(await isSignedBy(changed, ANNA, { region: REGION, service })).toBe(false);
  });

  test('credentials that expire in the middle of a session are renewed without a failed request', async () => {
    let identity = ANNA;
    const profile = awsProfile('work');
    profile.write(ANNA);
    const gateway = await startClouds({ bedrock: { region: REGION, profile: 'work' } });
    gateway.upstream.script(signedOnly(() => identity, SCOPE, either(hello, messageStream([text('Hello')]))));
    expect((await ask(gateway, `bedrock/global.${CLAUDE}`)).status).toBe(200);
    identity = BERT;
    profile.write(BERT);
    const answers = await Promise.all(
      [false, true, true].map((stream) => ask(gateway, `bedrock/global.${CLAUDE}`, { stream })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await gateway.settled(4)).toMatchObject(Array(4).fill({ outcome: 'ok' }));
  });

  test('credentials that cannot be renewed name the profile and the command', async () => {
    const profile = awsProfile('work');
    profile.write(ANNA);
    const gateway = await startClouds({
      bedrock: { region: REGION, profile: 'work' },
      other: { kind: 'bedrock', region: REGION, profile: 'missing' },
    });
    gateway.upstream.script(signedOnly(() => BERT, SCOPE, json(200, hello)));
    const refused = await ask(gateway, `bedrock/global.${CLAUDE}`);
    expect(refused.status).toBe(403);
    expect(refused.text()).toContain('security token included in the request is expired');
    expect(refused.text()).not.toContain(ANNA.token);
    const missing = await ask(gateway, `other/global.${CLAUDE}`);
    expect(missing.status).toBe(502);
    expect(missing.text()).toContain('aws sso login --profile missing');
    expect(await gateway.records()).toMatchObject([{ costNanoUsd: 0 }, { costNanoUsd: 0 }]);
  });
});
