import { describe, expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { completionsWire } from '../../../src/wire/apis/completions.ts';
import { embeddingsWire } from '../../../src/wire/apis/embeddings.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import { modelsIn, otherModelsIn } from '../../../src/wire/request/named-models.ts';

const HI = [{ role: 'user', content: 'hi' }];
const WIRES = [
  [
    chatWire,
    { messages: HI },
    ['max_tokens', 'max_completion_tokens', 'n', 'best_of', 'plugins', 'thinking'],
  ],
  [completionsWire, { prompt: 'hi' }, ['max_tokens', 'best_of', 'web_search_options']],
  [
    responsesWire,
    { input: 'hi' },
    ['max_output_tokens', 'max_tool_calls', 'background', 'previous_response_id', 'n'],
  ],
  [messagesWire, { messages: HI }, ['max_tokens', 'thinking', 'mcp_servers', 'reasoning', 'best_of']],
  [embeddingsWire, { input: 'hi' }, []],
] as const;
const COMMON = ['model', 'models', 'fallbacks', 'preset', 'service_tier', 'speed', 'inference_geo', 'stream'];

/** Spellings that some decoder takes for the name itself. */
const SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name.toUpperCase(),
  (name) => `${name[0]?.toUpperCase()}${name.slice(1)}`,
  (name) => name.replace('s', '\u017f').replace('k', '\u212a'),
  (name) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
  (name) => name.replaceAll('_', '-'),
  (name) => `${name}\0x`,
  (name) => `${name} `,
  (name) => ` ${name}`,
  (name) => `${name[0]}\ufeff${name.slice(1)}`,
  (name) => `${name[0]}\ufffd${name.slice(1)}`,
  (name) => `${name[0]}\ud800${name.slice(1)}`,
];

function refusalOf(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    return error instanceof GwError ? error.code : String(error);
  }
}

describe.each(WIRES)('$endpoint', (wire, body, fields) => {
  test('refuses each field that stands there under a name that some decoders read as its own', () => {
    const passed: string[] = [];
    for (const name of [...COMMON, ...fields]) {
      for (const spell of SPELLINGS) {
        const key = spell(name);
        const request = JSON.stringify({ model: 'm', ...body, [key]: 1 });
        const refusal =
          key === name ? 'ambiguous_parameter' : refusalOf(() => wire.parse(Buffer.from(request)));
        if (refusal !== 'ambiguous_parameter') passed.push(`${JSON.stringify(key)}: ${refusal}`);
      }
    }
    expect(passed).toEqual([]);
  });

  test('lets other fields by, whatever they are called', () => {
    const others = {
      'top-p': 1,
      topP: 1,
      'X-Models-Note': 'a',
      modelling: 1,
      é: 2,
      'max tokens?!x': 3,
    };
    const request = JSON.stringify({ model: 'm', ...body, ...others });
    expect(refusalOf(() => wire.parse(Buffer.from(request)))).toBeUndefined();
  });
});

describe('modelsIn()', () => {
  const read = (json: string) => modelsIn(Buffer.from(json), responsesWire.scan(Buffer.from(json)).members);

  test.each([
    '{"x":{"models":["dear"],"models":[]}}',
    '{"x":{"models":[],"models":["dear"]}}',
    '{"fallbackModels":["dear"]}',
    '{"Models":["dear"]}',
    '{"x":{"modelId":"dear"}}',
    '{"model-name":{"a":[{"b":"dear"}]}}',
    '{"m\\u006fdel\\u0000x":"dear"}',
    '{"reasoning":[{"model":"dear"}]}',
    '{"tool_choice":{"model":"dear"}}',
  ])('%s names a model', (json) => {
    expect(read(json).names).toEqual(['dear']);
    const bytes = Buffer.from(json);
    expect(otherModelsIn(bytes, responsesWire.scan(bytes).members).names).toEqual(['dear']);
  });

  test.each(['{"agentId":"a"}', '{"x":{"Preset":"a"}}', '{"x":{"a":"\\x"}}'])('%s may choose one', (json) => {
    expect(read(json).hidden).toBeDefined();
  });

  test.each([
    '{"betas":["claude-code-20250219"]}',
    '{"metadata":{"models":["dear"]}}',
    '{"modelling":"dear"}',
  ])('%s names none', (json) => {
    expect(read(json)).toEqual({ names: [], hidden: undefined });
  });
});
