import { describe, expect, onTestFinished, test } from 'vitest';
import type { Json } from '../../../src/translation/json.ts';
import { json, type Script, status } from '../../support/scripts.ts';
import { closeAll, type SeveralOptions, severalTargets } from '../../support/several-targets.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { events, readEvents } from '../../wire/support/event-scripts.ts';
import { anthropicError, messageBody } from '../../wire/support/messages-shapes.ts';
import { completedEvents, messageItem, responseBody } from '../../wire/support/responses-shapes.ts';

const NAMES = ['a', 'b', 'c'];

/** An account that stores its own responses, encrypts its own reasoning, and refuses those of all others. */
function account(name: string): Script {
  let made = 0;
  return async (exchange) => {
    const { stream, input, ...asked } = JSON.parse((await exchange.body).toString()) as Json;
    const foreign = (id: unknown) => typeof id === 'string' && id !== '' && !id.includes(`_${name}_`);
    if (foreign(asked.previous_response_id)) return await notFound(asked.previous_response_id)(exchange);
    const seals = JSON.stringify(input).matchAll(/"encrypted_content":"([^"]*)"/g);
    if ([...seals].some(([, seal]) => foreign(seal))) return await unreadable(exchange);
    const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: `seal_${name}_` };
    const rest = { id: `resp_${name}_${made++}`, output: [reasoning, messageItem('Yes')] };
    await (stream ? events(completedEvents(['Yes'], rest)) : json(200, responseBody([], rest)))(exchange);
  };
}

const notFound = (id: unknown) =>
  json(400, {
    error: {
      message: `Previous response with id '${id}' not found.`,
      type: 'invalid_request_error',
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    },
  });

const unreadable = json(400, {
  error: {
    message: 'The encrypted content gAAA...DQ== could not be verified.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_encrypted_content',
  },
});

async function start(options: SeveralOptions = {}) {
  const clock = createVirtualClock();
  const several = await severalTargets({ clock, join: ' | ', ...options });
  onTestFinished(() => closeAll(several));
  several.upstreams.forEach((upstream, i) => {
    upstream.script(account(NAMES[i] ?? ''));
  });
  const respond = (body: object) =>
    several.gateway.post({ model: 'many', ...body }, { path: '/v1/responses' });
  return { ...several, clock, respond };
}

/** The response in an answer, streamed or not. */
function responseIn(answer: Awaited<ReturnType<Awaited<ReturnType<typeof start>>['respond']>>): Json {
  if (!answer.header('content-type')?.startsWith('text/event-stream')) return answer.json() as Json;
  const [, last] = readEvents(answer.body).at(-1) ?? [];
  return (last as { response: Json }).response;
}

describe('a request that continues a stored response', () => {
  test.each([false, true])('goes to the account that stores it (streams: %s)', async (stream) => {
    const { respond, hits } = await start();
    let asked = 0;
    for (let conversation = 0; conversation < 40; conversation++) {
      let previous_response_id: unknown = null;
      const served = new Set<string | undefined>();
      for (let turn = 0; turn < 3; turn++) {
        const answer = await respond({ stream, previous_response_id, input: `question ${asked++}` });
        expect(answer.status).toBe(200);
        served.add(answer.header('x-service-provider'));
        previous_response_id = responseIn(answer).id;
      }
      expect(served.size).toBe(1);
    }
    // Each request was sent once: no account was tried in vain.
    expect(hits().reduce((sum, each) => sum + each)).toBe(asked);
    expect(hits().every((count) => count > 0)).toBe(true);
  });

  test('tries every account if gw does not know the right one, without harm to their health', async () => {
    const { respond, hits } = await start({ alone: true, join: ', ' });
    for (let i = 0; i < 8; i++) {
      const answer = await respond({ input: 'Hi', previous_response_id: 'resp_c_from_before' });
      expect(answer.header('x-service-route')).toBe('attempts=3 (a 400, b 400, c ok)');
    }
    expect((await respond({ input: 'Hi' })).header('x-service-provider')).toBe('a');
    expect(hits()).toEqual([9, 8, 8]);
  });

  test('that no account stores gets the error of the provider', async () => {
    const { respond } = await start({ alone: true, count: 2 });
    const answer = await respond({ input: 'Hi', previous_response_id: 'resp_x_0' });
    expect([answer.status, answer.json()]).toEqual([
      400,
      { error: expect.objectContaining({ code: 'previous_response_not_found' }) },
    ]);
  });

  test('fails with its account, since no other could answer', async () => {
    const { respond, upstreams, hits } = await start({ join: ', ' });
    const { id } = responseIn(await respond({ input: 'Hi' }));
    upstreams[0]?.script(status(503));
    const answer = await respond({ input: 'And?', previous_response_id: id });
    expect([answer.status, answer.header('x-service-provider')]).toEqual([503, 'a']);
    expect(hits()).toEqual([2, 0, 0]);
  });

  test('goes by the stored conversation as well', async () => {
    const { respond, upstreams } = await start({ alone: true, join: ', ' });
    upstreams[0]?.queue(status(500));
    upstreams[1]?.script(json(200, responseBody([messageItem('Yes')], { conversation: { id: 'conv_1' } })));
    const served = [];
    for (const conversation of ['conv_1', { id: 'conv_1' }, 'conv_1']) {
      served.push((await respond({ input: 'Hi', conversation })).header('x-service-provider'));
    }
    expect(served).toEqual(['b', 'b', 'b']);
  });
});

test.each([
  ['/v1/responses', '{"model":"many","previous_response_id":"\\u1","input":"Hi"}'],
  ['/v1/responses', '{"model":"many","conversation":[],"input":"Hi"}'],
  ['/v1/responses', '{"model":"many","input":[{"type":"reasoning","encrypted_content":"gw1.\\u1"}]}'],
  ['/v1/responses', '{"model":"many","input":[{"type":"reasoning","encrypted_content":"gw1.x"},7,null]}'],
  ['/v1/messages', '{"model":"many","max_tokens":9,"messages":[{"content":["gw1.",{"signature":"gw1."}]}]}'],
  [
    '/v1/messages',
    '{"model":"many","max_tokens":9,"messages":[{"content":[{"type":"thinking","signature":"gw1.\\u1"}]}]}',
  ],
  ['/v1/messages', '{"model":"many","max_tokens":9,"messages":"\\"gw1."}'],
])('%s %s is the provider’s to judge', async (path, body) => {
  for (const wire of ['openai', 'anthropic'] as const) {
    const { gateway, upstreams } = await start({ count: 2, wires: [wire, wire] });
    for (const upstream of upstreams) upstream.script(status(422));
    const answer = await gateway.post(Buffer.from(body), { path });
    expect([400, 422]).toContain(answer.status);
  }
});

describe('encrypted reasoning', () => {
  const question = (text: string) => ({ type: 'message', role: 'user', content: text });

  test('goes back to its account, even if another has a better priority', async () => {
    const { respond, upstreams, hits, clock } = await start({ join: ', ' });
    upstreams[0]?.queue(status(429, { retryAfter: '5' }));
    const input: unknown[] = [question('one')];
    for (let turn = 0; turn < 4; turn++) {
      const answer = await respond({ input, store: false });
      expect([answer.status, answer.header('x-service-provider')]).toEqual([200, 'b']);
      input.push(...(responseIn(answer).output as unknown[]), question(`${turn} more`));
      await clock.advance(10_000);
    }
    expect(hits()).toEqual([1, 4, 0]);
    expect((await respond({ input: 'Hi' })).header('x-service-provider')).toBe('a');
  });

  test.each([null, ''])('that is empty (%j) binds nothing', async (encrypted_content) => {
    const { respond, upstreams } = await start({ join: ', ' });
    const input = [question('one'), { type: 'reasoning', summary: [], encrypted_content }, question('two')];
    for (const route of ['as-asked', 'attempts=2 (a 503, b ok)']) {
      expect((await respond({ input })).header('x-service-route')).toBe(route);
      upstreams[0]?.queue(status(503));
    }
  });

  test('finds its account if gw does not know it', async () => {
    const { respond } = await start({ join: ', ' });
    const sealed = { type: 'reasoning', summary: [], encrypted_content: 'seal_b_' };
    const answer = await respond({ input: [question('one'), sealed, question('two')] });
    expect(answer.header('x-service-route')).toBe('attempts=2 (a 400, b ok)');
  });

  test('is dropped if the conversation moves to the other API', async () => {
    const { respond, upstreams } = await start({ count: 2, join: ', ', wires: ['openai', 'anthropic'] });
    upstreams[1]?.script(
      json(
        200,
        messageBody([
          { type: 'thinking', thinking: 'Hm', signature: 'sealed' },
          { type: 'text', text: 'Yes' },
        ]),
      ),
    );
    const input: unknown[] = [question('one')];
    input.push(...(responseIn(await respond({ input, store: false })).output as unknown[]), question('two'));
    upstreams[0]?.queue(status(503));
    const moved = await respond({ input, store: false });
    expect(moved.header('x-service-route')).toBe('attempts=2 (a 503, b ok)');
    expect(upstreams[1]?.requests[0]?.body.toString()).not.toContain('seal_a_');
    // And back again: no provider can read the reasoning that gw made for the other API.
    input.push(...(responseIn(moved).output as unknown[]), question('three'));
    expect(JSON.stringify(input)).toContain('gw1.');
    upstreams[1]?.queue(status(503));
    const back = await respond({ input, store: false });
    expect(back.header('x-service-route')).toBe('attempts=2 (b 503, a ok)');
    const sent = upstreams[0]?.requests.at(-1)?.body.toString() ?? '';
    expect(sent).toContain('seal_a_');
    expect(sent).not.toContain('gw1.');
    expect(JSON.parse(sent).input).toHaveLength(input.length - 1);
  });

  test('on Anthropic’s API: a target that refuses a foreign signature is skipped from then on', async () => {
    const { gateway, upstreams } = await start({ count: 2, join: ', ', wires: ['anthropic', 'anthropic'] });
    const thought = { type: 'thinking', thinking: 'Hm', signature: 'by b' };
    const refusal = json(
      400,
      anthropicError(
        'invalid_request_error',
        'messages.1.content.0: Invalid `signature` in `thinking` block',
      ),
    );
    upstreams[0]?.script(refusal);
    upstreams[1]?.script(json(200, messageBody([thought, { type: 'text', text: 'Yes' }])));
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [thought] },
      { role: 'user', content: 'two' },
    ];
    const ask = () => gateway.post({ model: 'many', max_tokens: 9, messages }, { path: '/v1/messages' });
    expect((await ask()).header('x-service-route')).toBe('attempts=2 (a 400, b ok)');
    expect((await ask()).header('x-service-route')).toBe('as-asked');
    expect(upstreams[0]?.requests).toHaveLength(1);
  });

  test('on Anthropic’s API: reasoning of a model of the other API is not sent to Anthropic', async () => {
    const { gateway, upstreams } = await start({ count: 2, join: ', ', wires: ['anthropic', 'openai'] });
    upstreams[0]?.queue(status(529));
    const message = { role: 'assistant', content: 'Yes', reasoning_content: 'Hm' };
    upstreams[1]?.script(json(200, { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    const ask = (messages: unknown[]) =>
      gateway.post({ model: 'many', max_tokens: 9, messages }, { path: '/v1/messages' });
    const first = await ask([{ role: 'user', content: 'one' }]);
    const { content } = first.json() as { content: unknown[] };
    expect(content).toHaveLength(2);
    upstreams[0]?.script(json(200, messageBody([{ type: 'text', text: 'Yes' }])));
    const turns = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: content.slice(0, 1) },
      { role: 'user', content: 'three' },
    ];
    expect((await ask(turns)).header('x-service-provider')).toBe('a');
    const sent = JSON.parse(upstreams[0]?.requests.at(-1)?.body.toString() ?? '{}') as {
      messages: unknown[];
    };
    expect(sent.messages).toEqual([
      turns[0],
      { role: 'assistant', content: [{ type: 'text', text: 'Yes' }] },
      turns[2],
      turns[4],
    ]);
  });
});
