import { describe, expect, test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { nonTextOf } from '../../src/gateway/admission/measure-prompt.ts';
import { toolsFor } from '../../src/gateway/admission/tool-fees.ts';
import { requestTarget } from '../../src/gateway/context/request-target.ts';
import { checkReferences, referencesInText } from '../../src/gateway/objects/references.ts';
import { bodyReferences } from '../../src/gateway/pass-through/path-access.ts';
import { withPlainLetters } from '../../src/json/plain-letters.ts';
import { chatWire } from '../../src/wire/apis/chat.ts';
import { messagesWire } from '../../src/wire/apis/messages.ts';
import { responsesWire } from '../../src/wire/apis/responses.ts';
import { modelsIn, otherModelsIn } from '../../src/wire/request/named-models.ts';
import { asksForStructure } from '../../src/wire/request/structured-output.ts';
import type { Wire } from '../../src/wire/wire.ts';
import { BODIES } from '../fuzz/bodies.ts';
import { type Dice, diceOf } from '../fuzz/dice.ts';
import { type GatewayParts, openGatewayParts } from '../support/gateway-parts.ts';

const SEED = Number(process.env.GW_SEED ?? 8);
const RUNS = process.env.GW_LONG ? 20_000 : 400;
const ID = 'file-abc123456789';
const API = { chat: chatWire, messages: messagesWire, responses: responsesWire };
const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' };
type Api = keyof typeof API;

/** Fields that name an object of a provider's; some of them hold it with its id. */
const REFERENCES = [
  ...[
    'previous_response_id',
    'response_id',
    'conversation',
    'conversation_id',
    'container',
    'container_id',
    'file_id',
  ],
  ...[
    'file_ids',
    'input_file_id',
    'training_file',
    'validation_file',
    'result_files',
    'vector_store',
    'vector_store_id',
  ],
  ...[
    'vector_store_ids',
    'batch_id',
    'assistant_id',
    'thread_id',
    'run_id',
    'eval_id',
    'upload_id',
    'part_ids',
  ],
  ...['video_id', 'prompt_id', 'fine_tuned_model', 'fine_tuning_job_id', 'memory_store_id', 'agent_id'],
];
const HOLDERS = [
  ...[
    'conversation',
    'container',
    'prompt',
    'audio',
    'file',
    'vector_store',
    'video',
    'thread',
    'previous_response',
  ],
  'voice',
];
const ITEMS = [
  { type: 'item_reference', id: ID },
  { id: ID },
  { type: 'reasoning', id: ID, summary: [] },
  { type: 'image_generation_call', id: ID },
  { type: 'message', id: ID, role: 'assistant', content: [] },
];

/** Fields of the APIs with options, in which gw looks for no prompt. */
const OPTIONS = [
  'audio',
  'reasoning',
  'provider',
  'text',
  'thinking',
  'tool_choice',
  'response_format',
  'output_config',
];

type Json = Record<string, unknown>;

/** All objects in a value, itself included. */
function objectsIn(value: unknown): Json[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inner : [value as Json, ...inner];
}

/** A body of an API with something put into one of its objects or lists. */
function withInserted(api: Api, dice: Dice, key: string, value: unknown): Json {
  const rich = { ...(BODIES[PATHS[api]] as Json), model: 'mock/test-model' } as Json;
  const messages = [{ role: 'user', content: 'hi' }];
  const prompt = api === 'responses' ? { input: messages } : { messages, max_tokens: 9 };
  const plain = { model: 'mock/test-model', ...prompt };
  const body = structuredClone(dice.chance(0.3) ? rich : plain) as Json;
  delete body.service;
  for (const name of ['web_search_options', 'mcp_servers', 'container', 'tools'])
    if (dice.chance(0.8)) delete body[name];
  // Options of messages and blocks are texts of models; no provider looks anything up by them.
  const isOption = OPTIONS.includes(key);
  dice.pick(isOption || dice.chance(0.4) ? [body] : objectsIn(body))[key] = value;
  return body;
}

/** As a client writes it: with spaces, and with escapes that gw takes out. */
function written(body: Json, dice: Dice): Buffer {
  const text = JSON.stringify(body, null, dice.pick([undefined, undefined, 1]));
  const share = dice.pick([0, 0, 0.2]);
  const spelled = text.replace(/[a-z_](?=[^"]*"(?:[^"]*"[^"]*")*[^"]*$)/g, (letter) =>
    dice.chance(share) ? `\\u00${letter.charCodeAt(0).toString(16)}` : letter,
  );
  return withPlainLetters(Buffer.from(spelled));
}

/** A quick look that decides whether a full check is needed. */
interface Look {
  name: string;
  /** An input in which the full check finds something; undefined if it does not. */
  input(dice: Dice): { api?: Api; bytes: Buffer } | undefined;
  /** Whether the quick look lets the full check find it. */
  look(input: { api?: Api; bytes: Buffer }, parts: GatewayParts): boolean | Promise<boolean>;
  /** A narrower look, which the test has to notice. */
  narrower(text: string): boolean;
}

function contextOf(parts: GatewayParts, wire: Wire, bytes: Buffer) {
  const context = parts.contextOf({ model: 'mock/test-model', messages: [{ role: 'user', content: 'hi' }] });
  return Object.assign(context, { wire, request: wire.parse(bytes) });
}

const pickApi = (dice: Dice) => dice.pick(Object.keys(API) as Api[]);

const LOOKS: Look[] = [
  {
    name: 'mayRefer() in references.ts, for referencesInText()',
    input(dice) {
      const api = pickApi(dice);
      const [key, value] = dice.pick<[string, unknown]>([
        [dice.pick(REFERENCES), dice.pick<unknown>([ID, [ID], ID])],
        [dice.pick(HOLDERS), { id: ID }],
        ['input', [dice.pick(ITEMS)]],
        ['items', [dice.pick(ITEMS)]],
        ['x', dice.pick(ITEMS)],
        [dice.pick(OPTIONS), { [dice.pick(HOLDERS)]: { id: ID } }],
        [dice.pick(OPTIONS), { a: [{ [dice.pick(REFERENCES)]: ID }] }],
      ]);
      const bytes = written(withInserted(api, dice, key, value), dice);
      const isRefused = refuses(() => API[api].parse(bytes));
      return !isRefused && referencesInText(bytes.toString()).named.has(ID) ? { api, bytes } : undefined;
    },
    look({ api = 'chat', bytes }, parts) {
      let checks = 0;
      const objects = { shared: () => true, check: () => void checks++ };
      checkReferences({ ...parts.gateway, objects } as never, contextOf(parts, API[api], bytes), []);
      return checks > 0;
    },
    narrower: (text) => /_id"|"(container|conversation|prompt)"|item_reference/.test(text),
  },
  {
    name: 'MAY_NAME in path-access.ts, for each line of a file',
    input(dice) {
      const body = withInserted(pickApi(dice), dice, dice.pick(REFERENCES), ID);
      if (dice.chance(0.3)) body[dice.pick(HOLDERS)] = { id: ID };
      if (dice.chance(0.3)) body.input = [dice.pick(ITEMS)];
      const line = JSON.stringify(dice.chance(0.3) ? body : { custom_id: 'a', body });
      const spelled = line.replace(/[a-z_]/g, (letter) =>
        dice.chance(0.02) ? `\\u00${letter.charCodeAt(0).toString(16)}` : letter,
      );
      if (!referencesInText(spelled).named.has(ID)) return undefined;
      const text = `${dice.pick(['', '\n', 'x\n', '{}\n'])}${spelled}\n`;
      return { bytes: dice.chance(0.2) ? Buffer.from(text, 'utf16le') : Buffer.from(text) };
    },
    async look({ bytes }) {
      const form = Buffer.concat([
        Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'),
        bytes,
        Buffer.from('\r\n--b--\r\n'),
      ]);
      const { named } = await bodyReferences(form, { 'content-type': 'multipart/form-data; boundary=b' });
      return named.has(ID);
    },
    narrower: (text) => /_id|conversation|container|"prompt"|item_reference/.test(text),
  },
  {
    name: 'hasUnusualType and "tools" in bytes, for the tools of a request and of its items',
    input(dice) {
      const tool = dice.pick([
        { type: dice.pick(['web_search', 'web_search_preview_2025_03_11', 'file_search', 'surprise']) },
        { type: 'code_interpreter', container: { type: 'auto' } },
        { type: 'image_generation' },
        { type: 'mcp', server_url: 'https://x.test' },
        { google_search: {} },
      ]);
      const item = { type: 'additional_tools', tools: [tool] };
      const body = dice.chance(0.5)
        ? { model: 'm', input: [{ role: 'user', content: 'hi' }, item] }
        : { model: 'm', input: 'hi', tools: [{ type: 'function', name: 'f', parameters: {} }, tool] };
      return { bytes: written(body, dice) };
    },
    look: ({ bytes }) => (responsesWire.parse(bytes).serverTools?.tools.length ?? 0) > 0,
    narrower: (text) => /"(web_search|file_search|code_interpreter|mcp)/.test(text),
  },
  {
    name: "nonTextOf() before toolsFor(), for OpenRouter's reading of documents",
    input(dice) {
      const part = dice.pick([
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' } },
        { type: 'file', file: { file_id: ID } },
        { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AA' } },
        { type: 'input_file', file_data: 'data:application/pdf;base64,AA', filename: 'a.pdf' },
      ]);
      const content = dice.chance(0.5) ? [{ type: 'text', text: 'hi' }, part] : [part];
      const message = [{ role: 'user', content }];
      const body = { model: 'mock/test-model', max_tokens: 9, messages: message, input: message };
      return { api: pickApi(dice), bytes: written(body, dice) };
    },
    look({ api = 'chat', bytes }, parts) {
      const context = contextOf(parts, API[api], bytes);
      const target = { provider: { name: 'openrouter' }, model: 'm' } as never;
      const { serverTools } = context.request;
      const tools = toolsFor({ serverTools, nonText: nonTextOf(context), bytes }, target)?.tools ?? [];
      return tools.some(({ name, times = 0 }) => name === 'file_parser' && times >= 1);
    },
    narrower: (text) => /"file_data"|"input_file"|"file_id"/.test(text),
  },
  {
    name: 'KNOWN in otherModelsIn(), for modelsIn()',
    input(dice) {
      const key = dice.pick([
        'models',
        'fallback_models',
        'router',
        'reasoning',
        'thinking',
        'x',
        'extra_body',
      ]);
      const value = dice.pick<unknown>([
        'm2',
        ['m2'],
        { model: 'm2' },
        [{ models: ['m2'] }],
        { a: 'gpt-5.2-pro' },
      ]);
      const body = withInserted('responses', dice, key, value);
      delete body.tools;
      delete body.model;
      const bytes = written(body, dice);
      const { names } = modelsIn(bytes, responsesWire.scan(bytes).members);
      return names.includes('m2') || names.includes('gpt-5.2-pro') ? { bytes } : undefined;
    },
    look({ bytes }) {
      const { names } = otherModelsIn(bytes, responsesWire.scan(bytes).members);
      return names.includes('m2') || names.includes('gpt-5.2-pro');
    },
    narrower: (text) => /"(models|router|fallback_models)"/.test(text),
  },
  {
    name: 'asksForStructure(), for tools and formats in JSON',
    input(dice) {
      const [key, value] = dice.pick<[string, unknown]>([
        ['tools', [{ type: 'function', function: { name: 'f' } }]],
        ['functions', [{ name: 'f' }]],
        ['response_format', { type: dice.pick(['json_schema', 'json_object']) }],
        ['text', { format: { type: 'json_schema', schema: {} } }],
        ['output_config', { format: { type: 'json_schema' } }],
      ]);
      return {
        bytes: written({ model: 'm', messages: [{ role: 'user', content: 'hi' }], [key]: value }, dice),
      };
    },
    look: ({ bytes }) => asksForStructure(chatWire.parse(bytes)),
    narrower: (text) => /"tools"|"type": ?"json/.test(text),
  },
  {
    name: 'mayHaveEscape() in plain-letters.ts, for the bytes one by one',
    input(dice) {
      const pieces = ['u00', '\\\\u0041', '\\u00e9', '\\u0022', 'x', '\\n', 'uu00', 'u0', '\\\\'];
      const many = dice.pick([3, 62, 63, 64, 65, 130]);
      const filler = () => Array.from({ length: dice.below(many) }, () => dice.pick(pieces)).join('');
      const letter = dice.pick(['\\u0041', '\\\\\\u0041', '\\u005F', '\\u007a', '\\u002d']);
      return { bytes: Buffer.from(`{"a":"${filler()}${letter}${filler()}"}`) };
    },
    look({ bytes }) {
      const plain = bytes
        .toString()
        .replace(/(\\\\|\\[^u]|\\u00(?:22|e9))|\\u00([2-7][\da-f])/gi, (all, _, hex?: string) =>
          hex === undefined ? all : String.fromCharCode(Number.parseInt(hex, 16)),
        );
      return withPlainLetters(bytes).toString() === plain;
    },
    narrower: (text) => text.split('u00').length < 64,
  },
  {
    name: 'PLAIN in request-target.ts, for the whole way to a canonical path',
    input(dice) {
      const words = ['chat', 'completions', 'files', 'v1', 'Models', 'a-b', 'file_1', 'responses'];
      const path = Array.from({ length: 1 + dice.below(4) }, () => dice.pick(words)).join('/');
      return { bytes: Buffer.from(`/v1/${path}`) };
    },
    look({ bytes }) {
      const path = bytes.toString();
      const spelled = path.replace(/[a-z](?=[^/]*$)/i, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
      return requestTarget(path).path === requestTarget(spelled).path;
    },
    narrower: (text) => !text.startsWith('/v1/v1/'),
  },
];

function refuses(parse: () => unknown): boolean {
  try {
    parse();
    return false;
  } catch (error) {
    if (error instanceof GwError) return true;
    throw error;
  }
}

describe('a quick look lets nothing by that the full check finds', () => {
  test.each(LOOKS)('$name', async ({ input, look, narrower }) => {
    const parts = await openGatewayParts();
    const missed: string[] = [];
    let found = 0;
    let noticed = 0;
    for (let i = 0; i < RUNS && missed.length < 10; i++) {
      const given = input(diceOf(SEED, i));
      if (!given) continue;
      found++;
      if (!narrower(given.bytes.toString())) noticed++;
      if (!(await look(given, parts))) missed.push(`${given.api}: ${given.bytes}`);
    }
    expect(missed).toEqual([]);
    expect(found).toBeGreaterThan(RUNS / 20);
    expect(noticed).toBeGreaterThan(0);
  });
});

test.each([
  ['an address behind spaces', '"\\n\\t https://x.test/a"'],
  ['an address without its scheme', '"\\/\\/x.test/a"'],
  ['an address behind an escaped space', '"\\u0020https://x.test/a"'],
])('contents of a request are no address: %s', (_, data) => {
  const part = `{"type":"input_audio","input_audio":{"data":${data},"format":"wav"}}`;
  const body = Buffer.from(`{"model":"m","messages":[{"role":"user","content":[${part}]}]}`);
  expect(chatWire.unseenIn(chatWire.parse(body))).toMatchObject({ isInline: false });
});

test.each(['utf8', 'utf16le'] as const)(
  'ids are found in a JSON body of any type in %s',
  async (encoding) => {
    const body = Buffer.from(JSON.stringify({ input_file_id: ID }), encoding);
    for (const type of ['application/json', 'text/plain', undefined])
      expect((await bodyReferences(body, type === undefined ? {} : { 'content-type': type })).named).toEqual(
        new Set([ID]),
      );
  },
);

test('escapes of other scripts are text', () => {
  const body = '{"model":"m","messages":[{"role":"user","content":"\\u4f60\\u597d"}]}';
  expect(chatWire.parse(withPlainLetters(Buffer.from(body))).nonText).toEqual({ images: 0, context: false });
});
