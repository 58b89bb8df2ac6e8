import { describe, expect, test } from 'vitest';
import { objectsIn } from '../../src/json/object.ts';
import { DIALECTS } from '../../src/providers/dialects/dialects.ts';
import type { Json } from '../../src/translation/json.ts';
import { startGateway } from '../support/gateway.ts';
import { json } from '../support/scripts.ts';
import {
  chatForMessages,
  chatForResponses,
  messagesForChat,
  responsesForMessages,
} from '../translation/support/translations.ts';
import { eventText } from '../wire/support/event-scripts.ts';
import { messageItem, responseBody } from '../wire/support/responses-shapes.ts';
import { send } from '../wire/support/send.ts';

const USER = { role: 'user', content: 'Hi' };
const roles = ({ messages }: Json) => objectsIn(messages).map(({ role }) => role);

/** Reports of other gateways' users, by where they are. */
describe('what others reported', () => {
  test('BerriAI/litellm#25321: arguments that come whole, without a delta', () => {
    const item = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'Bash', arguments: '' };
    const args = '{"command":"ls"}';
    const events: Json[] = [
      { type: 'response.created', response: { id: 'r', model: 'm' } },
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.function_call_arguments.done', output_index: 0, arguments: args },
      { type: 'response.output_item.done', output_index: 0, item: { ...item, arguments: args } },
      {
        type: 'response.completed',
        response: { status: 'completed', output: [{ ...item, arguments: args }] },
      },
    ];
    const text = events.map((event) => eventText([String(event.type), event])).join('');
    const out = String(responsesForMessages.answers().events(Buffer.from(text)));
    expect(out.match(/input_json_delta/g)).toHaveLength(1);
    expect(out).toContain(JSON.stringify(args).slice(1, -1));
    expect(out).toContain('"stop_reason":"tool_use"');
  });

  test('BerriAI/litellm#20433: thinking that was asked for is shown, or left out where an account may not have it', async () => {
    const gateway = await startGateway({
      settings: { providers: { openai: { baseUrl: 'http://127.0.0.1:1/v1' } } },
      credentials: { mock: 'provider-key', openai: 'provider-key' },
    });
    gateway.configure({ providers: { openai: { baseUrl: gateway.upstream.url } } });
    const message = 'Your organization must be verified to generate reasoning summaries.';
    gateway.upstream.script(async (exchange) => {
      const { reasoning } = JSON.parse(String(await exchange.body));
      const answer = responseBody([messageItem('Hello')]);
      await (reasoning?.summary
        ? json(400, { error: { message, param: 'reasoning.summary' } })
        : json(200, answer))(exchange);
    });
    const body = {
      model: 'openai/gpt-5.4',
      max_tokens: 8_000,
      thinking: { type: 'enabled', budget_tokens: 4_000 },
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      messages: [USER],
    };
    expect((await send(gateway, '/v1/messages', body)).status).toBe(200);
    const sent = gateway.upstream.requests.map(({ body: bytes }) => JSON.parse(String(bytes)).reasoning);
    expect(sent).toEqual([{ effort: 'medium', summary: 'auto' }, { effort: 'medium' }]);
  });

  test('BerriAI/litellm#26916: thinking of unknown origin is not said as text', () => {
    const content = [
      { type: 'thinking', thinking: 'secret', signature: '' },
      { type: 'text', text: 'So' },
    ];
    const body = { model: 'm', max_tokens: 99, messages: [USER, { role: 'assistant', content }, USER] };
    expect(JSON.stringify(responsesForMessages.request(body))).not.toContain('secret');
    expect(JSON.stringify(chatForMessages.request(body))).not.toContain('secret');
  });

  test('farion1231/cc-switch#7504: a call that was broken off does not end the session', () => {
    const call = { type: 'function_call', call_id: 'view_image:24', name: 'view_image', arguments: '{}' };
    const request = chatForResponses.request({ model: 'kimi-k3', input: [USER, call] });
    expect(roles(request)).toEqual(['user', 'assistant', 'tool']);
  });

  test('james-6-23/codex2api#414: a result whose call was cut off the history', () => {
    const output = { type: 'function_call_output', call_id: 'call_gone', output: 'a' };
    expect(roles(chatForResponses.request({ model: 'm', input: [output, USER] }))).toEqual(['user', 'user']);
  });

  test('router-for-me/CLIProxyAPI#5647: items of a search among tools', () => {
    const input = [
      USER,
      { type: 'tool_search_call', id: 'ts_1' },
      { type: 'tool_search_output', id: 'ts_1', tools: [] },
      USER,
    ];
    const left: string[] = [];
    const request = chatForResponses.request(
      { model: 'kimi-k3', input },
      { leaveOut: (param) => left.push(param) },
    );
    expect(roles(request)).toEqual(['user', 'user']);
    expect(left).toEqual(['input[] (tool_search_call)', 'input[] (tool_search_output)']);
  });

  test.each(['1mcp__find', '-dash', 'mcp.server/find', 'mcp server'])(
    'maximhq/bifrost#1979: the name %s at Gemini',
    (name) => {
      const { tools } = chatForMessages.request({
        model: 'm',
        max_tokens: 9,
        messages: [USER],
        tools: [{ name, input_schema: {} }],
      });
      const [tool] = objectsIn(tools).map(({ function: fn }) => fn as Json);
      expect(tool?.name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/);
    },
  );

  test('automazeio/vibeproxy#338, ruvnet/agentic-flow#55: words of schemas that Gemini refuses', () => {
    const schema = {
      type: 'object',
      properties: {
        properties: { type: 'object', propertyNames: { type: 'string' } },
        count: { type: 'integer', exclusiveMinimum: 0, multipleOf: 2 },
        records: { type: 'array', items: { type: 'object', propertyNames: { type: 'string' } } },
      },
    };
    const options = { dialect: DIALECTS.google ?? {} };
    const body = {
      model: 'm',
      max_tokens: 9,
      messages: [USER],
      tools: [{ name: 'f', input_schema: schema }],
    };
    const [tool] = objectsIn(chatForMessages.request(body, options).tools).map(
      ({ function: fn }) => fn as Json,
    );
    expect(tool?.parameters).toEqual({
      type: 'object',
      properties: {
        properties: { type: 'object' },
        count: { type: 'integer' },
        records: { type: 'array', items: { type: 'object' } },
      },
    });
  });

  test.each([
    ['an answer', [], ['text']],
    [
      'a turn with calls',
      [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '{}' } }],
      ['text', 'redacted_thinking', 'tool_use'],
    ],
  ])(
    'Claude Code takes the last part for its result: what is sealed behind a text of %s',
    (_, tool_calls, blocks) => {
      const deltas = [
        { content: 'OK' },
        { reasoning_opaque: 'sealed' },
        ...(tool_calls.length > 0 ? [{ tool_calls }] : []),
      ];
      const data = [...deltas.map((delta) => JSON.stringify({ choices: [{ delta }] })), '[DONE]'];
      const out = String(
        chatForMessages.answers().events(Buffer.from(data.map((each) => `data: ${each}\n\n`).join(''))),
      );
      const begun = [...out.matchAll(/"content_block":\{"type":"(\w+)"/g)].map(([, type]) => type);
      expect(begun).toEqual(blocks);
    },
  );

  test('anthropics/claude-code#21392: an empty turn is not sent to Anthropic', () => {
    const { messages } = messagesForChat.request({
      model: 'm',
      messages: [USER, { role: 'assistant', content: '' }, USER],
    });
    expect(objectsIn(messages).every(({ content }) => objectsIn(content).length > 0)).toBe(true);
  });

  test('MoonshotAI/Kimi-K2.5#13: a client of chat completions that drops reasoning', async () => {
    const gateway = await startGateway();
    const message =
      'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1';
    gateway.upstream.script(async (exchange) => {
      const { messages } = JSON.parse(String(await exchange.body));
      const isMissing = objectsIn(messages).some(
        (each) => each.tool_calls && each.reasoning_content === undefined,
      );
      await (isMissing
        ? json(400, { error: { message } })
        : json(200, {
            choices: [{ message: { content: 'x' } }],
            usage: { prompt_tokens: 1, completion_tokens: 1 },
          }))(exchange);
    });
    const tool_calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const messages = [
      USER,
      { role: 'assistant', content: null, tool_calls },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ];
    expect((await gateway.post({ model: 'mock/test-model', messages })).status).toBe(200);
    expect(gateway.upstream.requests).toHaveLength(2);
  });
});
