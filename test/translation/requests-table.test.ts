import { test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { isObject } from '../../src/json/object.ts';
import type { Dialect } from '../../src/providers/dialects/dialect.ts';
import { DIALECTS, UNKNOWN } from '../../src/providers/dialects/dialects.ts';
import { readChatRequest } from '../../src/translation/apis/chat/read-request.ts';
import { writeChatRequest } from '../../src/translation/apis/chat/write-request.ts';
import { messagesOfConverse } from '../../src/translation/apis/converse/read-request.ts';
import { readGeminiRequest } from '../../src/translation/apis/gemini/read-request.ts';
import { writeGeminiRequest } from '../../src/translation/apis/gemini/write-request.ts';
import { readMessagesRequest } from '../../src/translation/apis/messages/read-request.ts';
import { writeMessagesRequest } from '../../src/translation/apis/messages/write-request.ts';
import { readResponsesRequest } from '../../src/translation/apis/responses/read-request.ts';
import { writeResponsesRequest } from '../../src/translation/apis/responses/write-request.ts';
import { unpackSeal } from '../../src/translation/carry/envelope.ts';
import { createItemMemories } from '../../src/translation/carry/item-memory.ts';
import type { Api, BodyOptions, RequestContext } from '../../src/translation/context.ts';
import type { Conversation, Part, Turn } from '../../src/translation/conversation/conversation.ts';
import { isEmpty, type Json } from '../../src/translation/json.ts';
import { plainSchema } from '../../src/translation/repair/schemas.ts';
import { translateBody } from '../../src/translation/translate.ts';
import { expectFrozen, type Row, variationsOf } from '../support/frozen.ts';
import { FRAGMENTS, SMALL } from './support/fragments.ts';
import { CONVERSE, RICH_CONVERSATION } from './support/rich-conversation.ts';
import { RICH } from './support/rich-requests.ts';

const READERS = {
  'chat/completions': readChatRequest,
  messages: readMessagesRequest,
  responses: readResponsesRequest,
  gemini: readGeminiRequest,
};
const WRITERS = {
  'chat/completions': writeChatRequest,
  messages: writeMessagesRequest,
  responses: writeResponsesRequest,
  gemini: writeGeminiRequest,
};
const APIS = Object.keys(RICH) as Api[];

const OPTIONS: BodyOptions = {
  ...{ provider: 'mock', model: 'm', maxTokens: 4_096, outputLimit: 'max_completion_tokens' },
  ...{ dialect: UNKNOWN, isCodex: false },
};

/** What a reader or a writer makes of something, and what it leaves out; where it refuses, of which field. */
function said(make: (context: RequestContext) => object, options: Partial<RequestContext> = {}): unknown {
  const leftOut: string[] = [];
  const refuse = (param: string) =>
    new GwError(param, { status: 400, type: 'invalid_request_error', param, code: 'no equivalent' });
  const context: RequestContext = {
    ...OPTIONS,
    from: 'responses',
    leaveOut: (param) => void leftOut.push(param),
    cannotExpress: refuse,
    refuseRest(rest, at) {
      const name = Object.keys(rest).find((each) => !isEmpty(rest[each]));
      if (name !== undefined) throw refuse(`${at}.${name}`);
    },
    paramOf: (field) => field,
    unseal: (text) => unpackSeal(text, 'mock'),
    recall: (id) => (id === 'msg_0' ? { type: 'message', role: 'user', content: 'Recalled' } : undefined),
    ...options,
  };
  const withoutPlaces = (value: object) =>
    JSON.parse(JSON.stringify(value, (key, each) => (key === 'at' ? undefined : each)));
  return orRefusal(() => ({ ...withoutPlaces(make(context)), ...(leftOut.length > 0 && { leftOut }) }));
}

function orRefusal(make: () => object): unknown {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof GwError)) throw error;
    return `refused ${error.param} ${error.code}`;
  }
}

const isWord = (value: string) => /^[a-z_]+$/i.test(value) && value.length < 24;
/** Another number, the contrary, a field more, and another word where words have a meaning. */
const others = (value: unknown) => {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [0];
  if (isObject(value)) return [{ ...value, unknown: 1 }];
  return typeof value === 'string' && isWord(value) ? ['other'] : [];
};

/** Inside of schemas and marks nothing is read. */
const IS_INSIDE = /(?:schema|parameters|mark|cache_control)\b.(?:type|properties|\+)/i;

/** A refusal of the very place that was changed is `refused there`. */
function varied(name: string, value: unknown, outcome: (value: unknown) => unknown): Row {
  const variations = Array.from(variationsOf(value, others)).filter((other) => !IS_INSIDE.test(other.name));
  const there = (other: string, said: unknown) =>
    typeof said === 'string'
      ? said.replace(`refused ${other.replace(/^-| .*/g, '')} `, 'refused there, ')
      : said;
  return {
    name,
    outcome: () => outcome(value),
    variations: variations.map((other) => ({
      name: other.name.replace(' + {"unknown":1}', '+'),
      outcome: () => {
        const place = other.name.replace(' + {"unknown":1}', '.unknown');
        return there(place, outcome(other.value));
      },
    })),
  };
}
const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });

test('what is read of a request of each API, and of one in which one thing differs', async () => {
  const rows = APIS.map((api) =>
    varied(api, RICH[api], (body) => said((context) => READERS[api](body as Json, context), { from: api })),
  );
  const converse = (body: unknown) =>
    orRefusal(() => messagesOfConverse(body as Json, { model: 'm', maxTokens: 50 }));
  await expectFrozen(import.meta.dirname, 'read-requests', [
    ...rows,
    varied('converse', CONVERSE, converse),
    ...Object.entries(FRAGMENTS).flatMap(([api, fragments]) =>
      fragments.map((fragment) =>
        row(`${api} ${JSON.stringify(fragment)}`, () => {
          const body = { ...SMALL[api as Api], ...fragment };
          return said((context) => READERS[api as Api](body, context), { from: api as Api, isCodex: true });
        }),
      ),
    ),
  ]);
});

test('how a conversation is written in each API, and one in which one thing differs', async () => {
  const rows = APIS.map((api) =>
    varied(api, RICH_CONVERSATION, (conversation) =>
      said((context) => WRITERS[api](conversation as Conversation, context)),
    ),
  );
  const user = (...parts: Part[]): Turn => ({ role: 'user', parts });
  const small: Conversation = { model: 'client/model', turns: [], tools: [], isStream: false, extra: {} };
  const write = (api: Api, given: Partial<Conversation>, options: Partial<RequestContext> = {}) =>
    row(`${api}: ${JSON.stringify({ ...given, ...options })}`, () =>
      said((context) => WRITERS[api]({ ...small, ...given }, context), options),
    );
  const efforts = ['none', 'minimal', 'low', 'high', 'xhigh', 'max', 'other'];
  const models: [Api, string][] = [
    ...['gpt-5', 'gpt-5.2', 'gemini-2.5-flash', 'm'].map((model): [Api, string] => [
      'chat/completions',
      model,
    ]),
    ...['claude-opus-4-1', 'claude-opus-5'].map((model): [Api, string] => ['messages', model]),
    ...['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-3-pro', 'm'].map((model): [Api, string] => [
      'gemini',
      model,
    ]),
    ['responses', 'gpt-5'],
  ];
  const budgets = [0, 1_024, 2_048, 2_049, 8_193];
  await expectFrozen(import.meta.dirname, 'written-requests', [
    ...rows,
    ...models.map(([api, model]) =>
      row(`${api}, reasoning of ${model} by effort and budget`, () =>
        [
          ...efforts.map((effort) => ({ effort })),
          ...budgets.map((budgetTokens) => ({ budgetTokens })),
          { isAdaptive: true },
          {},
        ].map((reasoning) => {
          const given = { ...small, reasoning, maxTokens: 9_000 };
          const body = said((context) => WRITERS[api](given, context), { model, from: 'messages' });
          if (typeof body === 'string') return body;
          const {
            thinking,
            output_config,
            reasoning_effort,
            reasoning: own,
            generationConfig,
          } = body as Json;
          const { thinkingConfig } = (generationConfig ?? {}) as Json;
          return [thinking, output_config, reasoning_effort, own, thinkingConfig].filter(Boolean);
        }),
      ),
    ),
    write('messages', { maxTokens: 1_024, reasoning: { effort: 'low' } }, { model: 'claude-opus-4-1' }),
    write('messages', { maxTokens: 1_025, reasoning: { effort: 'low' } }, { model: 'claude-opus-4-1' }),
    write('messages', { temperature: 1.1 }),
    write('messages', {
      turns: [user({ type: 'image', at: 'AT', url: 'data:image/jpg;base64,AA', detail: 'low' })],
    }),
    ...APIS.map((api) =>
      write(api, {
        turns: [
          user({ type: 'text', text: '' }, { type: 'audio', at: 'AT', audio: { data: 'AA', format: 'wav' } }),
        ],
      }),
    ),
    ...APIS.map((api) =>
      write(api, { serviceTier: 'auto', choice: 'any', tools: [{ name: 'a' }], isSerial: true }),
    ),
    write('messages', { temperature: 0.5, topP: 0.5 }, { model: 'claude-3-opus' }),
    write('messages', { reasoning: { effort: 'low' }, topP: 0.94 }),
    write('messages', { reasoning: { effort: 'low' }, topP: 0.95, temperature: 1 }),
    write('messages', { reasoning: { effort: 'low' }, choice: 'any' }),
    ...APIS.map((api) => write(api, { stops: ['1', '2', '3', '4', '5', '6'], user: 'u'.repeat(65) })),
    ...APIS.map((api) => write(api, { format: { type: 'json_object' }, verbosity: 'low' })),
    ...APIS.map((api) =>
      write(api, { turns: [{ role: 'system', parts: [{ type: 'text', text: 'Rule' }] }] }),
    ),
    ...[
      'n',
      'logprobs',
      'store',
      'thinking',
      'seed',
      'logit_bias',
      'safeguards',
      'prompt_cache_key',
      'x',
    ].flatMap((name) =>
      APIS.map((api) =>
        row(`${api}: the field ${name}`, () =>
          [0, 1, false, ['text']].map((value) =>
            said((context) => ({ n: WRITERS[api]({ ...small, extra: { [name]: value } }, context)[name] })),
          ),
        ),
      ),
    ),
  ]);
});

/** A request in another API, or why it can't be said there. */
function translated(body: unknown, from: Api, to: Api, options: Partial<BodyOptions> = {}) {
  return orRefusal(() => {
    const bytes = Buffer.from(JSON.stringify(body));
    const result = translateBody(bytes, { from, to }, { ...OPTIONS, ...options }, createItemMemories()(1));
    const { names, callIds, leftOut } = result;
    return { ...JSON.parse(result.bytes.toString()), gw: { names, callIds, leftOut } };
  });
}

const call = (id: string, name = 'look') => ({ type: 'tool_use', id, name, input: {} });
const result = (id: string, content = `Result of ${id}`) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
const turn = (role: string, ...content: object[]) => ({ role, content });
const CONVERSATIONS: Record<string, object[]> = {
  'a call without a result': [turn('assistant', call('a'), call('b')), turn('user', result('b'))],
  'a result without a call': [turn('user', result('lost'), { type: 'text', text: 'Hi' })],
  'a result too late': [
    turn('assistant', call('a')),
    turn('user', { type: 'text', text: 'Wait' }),
    turn('user', result('a')),
  ],
  'an id twice': [
    turn('assistant', call('a')),
    turn('user', result('a', 'One')),
    turn('assistant', call('a')),
    turn('user', result('a', 'Two')),
  ],
  'an id twice in a turn': [
    turn('assistant', call('a'), call('a')),
    turn('user', result('a', 'One'), result('a', 'Two')),
  ],
  'calls in two turns': [
    turn('assistant', call('a')),
    turn('assistant', call('b')),
    turn('user', result('a'), result('b')),
  ],
  'long and odd ids': [
    turn('assistant', call('x'.repeat(41)), call('ü'), call('abcdefghi')),
    turn('user', result('ü')),
  ],
  'odd names': [
    turn('assistant', call('a', 'look.up'), call('b', '1st'), call('c', 'y'.repeat(65))),
    turn('user', result('a')),
  ],
  'a user behind a tool': [
    turn('assistant', call('a')),
    turn(
      'user',
      result('a'),
      { type: 'text', text: 'And' },
      { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
    ),
  ],
  'a reminder in between': [
    turn('user', { type: 'text', text: 'Hi' }),
    { role: 'system', content: 'Think' },
    turn('assistant', { type: 'text', text: 'Yes' }),
  ],
};
const REPAIRING: Record<string, Dialect> = {
  plain: {},
  mistral: DIALECTS.mistral ?? {},
  local: { systemFirst: true },
};

test('how conversations are repaired, and what dialects change', async () => {
  const tools = [
    { name: 'look.up', input_schema: {} },
    { name: 'z'.repeat(70), input_schema: { type: 'array', properties: { a: {} } } },
    { name: '1st', input_schema: { properties: { a: {} } } },
  ];
  const repairs = Object.entries(CONVERSATIONS).flatMap(([name, messages]) =>
    Object.entries(REPAIRING).map(([kind, dialect]) =>
      row(`${name}, ${kind}`, () => {
        const { messages: all, gw } = translated(
          { model: 'm', max_tokens: 5, messages },
          'messages',
          'chat/completions',
          { dialect },
        ) as Json;
        return [all, (gw as { leftOut: string[] }).leftOut];
      }),
    ),
  );
  const dialects: Record<string, Dialect> = {
    ...{
      required: { reasoning: 'required' },
      kept: { reasoning: 'kept' },
      refused: { reasoning: 'refused' },
    },
    ...{
      details: { details: true },
      extras: { extras: true },
      opaque: { opaque: true },
      marks: { cacheMarks: true },
    },
    ...{
      strict: { strictTools: false },
      stops: { maxStops: 1 },
      auto: { onlyAutoTools: true },
      ids: { toolIds: 9 },
    },
    ...{
      adds: { adds: { extra: 1 } },
      refuses: { refuses: ['stream_options', 'response_format.json_schema', 'user'] },
    },
    ...{ schemas: { plainSchemas: true }, unknown: UNKNOWN },
  };
  const inDialects = (['messages', 'responses', 'gemini'] as const).map(
    (from): Row => ({
      name: `${from} in chat`,
      outcome: () => translated(RICH[from], from, 'chat/completions', { dialect: {} }),
      variations: [
        ...Object.entries(dialects).map(([name, dialect]) => ({
          name,
          outcome: () => translated(RICH[from], from, 'chat/completions', { dialect, model: 'gemini-3-pro' }),
        })),
        ...[
          { outputLimit: 'max_tokens' as const },
          { maxOutputTokens: 100 },
          { isCodex: true },
          { provider: 'other' },
        ].map((options) => ({
          name: JSON.stringify(options),
          outcome: () => translated(RICH[from], from, 'chat/completions', { dialect: {}, ...options }),
        })),
      ],
    }),
  );
  const schema = {
    type: 'object',
    $defs: { A: { type: 'string', const: 'x' }, B: { $ref: '#/$defs/B' } },
    properties: {
      a: { $ref: '#/$defs/A', description: 'd' },
      b: { $ref: '#/$defs/B' },
      c: { oneOf: [{ type: 'string' }, { type: ['integer', 'null'] }] },
      d: { allOf: [{ type: 'array' }, { items: [{ type: 'string' }, {}] }] },
      e: { type: ['string', 'number'], additionalProperties: false },
      f: { enum: [1, 2], type: 'integer' },
    },
  };
  await expectFrozen(import.meta.dirname, 'repaired-requests', [
    ...repairs,
    row('changed names', () =>
      translated(
        {
          model: 'm',
          max_tokens: 5,
          messages: [turn('user')],
          tools,
          tool_choice: { type: 'tool', name: '1st' },
        },
        'messages',
        'chat/completions',
      ),
    ),
    ...inDialects,
    varied('a plain schema', schema, (value) => plainSchema(value as Json)),
    row('no JSON', () =>
      orRefusal(() =>
        translateBody(Buffer.from('{'), { from: 'messages', to: 'gemini' }, OPTIONS, createItemMemories()(1)),
      ),
    ),
  ]);
});
