import { describe, expect, test } from 'vitest';
import { outputLimitEdits } from '../../../src/gateway/upstream/build-request.ts';
import { applyEdits } from '../../../src/json/edit.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { completionsWire } from '../../../src/wire/apis/completions.ts';
import { embeddingsWire } from '../../../src/wire/apis/embeddings.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { compactWire, responsesWire } from '../../../src/wire/apis/responses.ts';
import type { Wire } from '../../../src/wire/wire.ts';

interface Host {
  name?: string;
  origin?: string;
  model?: string;
  outputLimit?: 'max_tokens' | 'max_completion_tokens';
}

const MESSAGES = '"messages":[{"role":"user","content":"Hi"}]';

/** The limits in the body for the provider. */
function sent(wire: Wire, limits: string, limit: number | undefined, host: Host = {}) {
  const { name = 'mine', origin = 'https://mine.example', model = 'm', outputLimit = 'max_tokens' } = host;
  const prompt = wire === messagesWire || wire === chatWire ? MESSAGES : '"input":"Hi","prompt":"Hi"';
  const request = wire.parse(Buffer.from(`{${limits && `${limits},`}"model":"m",${prompt}}`));
  const target = { provider: { name, origin, outputLimit }, model };
  // outputLimitEdits reads only these parts of the attempt.
  const parts = { context: { wire, request }, target, admitted: { limit, remaining: 1 } };
  const edits = outputLimitEdits(parts as unknown as Parameters<typeof outputLimitEdits>[0]);
  const body = JSON.parse(applyEdits(request.bytes, edits).toString('utf8'));
  return Object.fromEntries(Object.entries(body).filter(([key]) => /^max_.*tokens$/.test(key)));
}

const OPENAI: Host = { name: 'openai', outputLimit: 'max_completion_tokens' };
const OPENROUTER: Host = { name: 'openrouter' };
const ALIBABA: Host = { origin: 'https://dashscope-intl.aliyuncs.com' };
const QWEN: Host = { ...OPENROUTER, model: 'qwen/qwen3-max' };

describe('outputLimitEdits()', () => {
  test.each<[string, Wire, string, number | undefined, object, Host?]>([
    ['writes a limit where there is none', chatWire, '', 700, { max_tokens: 700 }],
    ['in the field that the provider has', chatWire, '', 700, { max_completion_tokens: 700 }, OPENAI],
    ['lowers the own limit', chatWire, '"max_tokens":9000', 700, { max_tokens: 700 }],
    ['never raises one', chatWire, '"max_tokens":100', 700, { max_tokens: 100 }],
    [
      'lowers only the larger of two',
      chatWire,
      '"max_tokens":100,"max_completion_tokens":9000',
      700,
      { max_tokens: 100, max_completion_tokens: 700 },
    ],
    [
      'leaves null alone beside a limit',
      chatWire,
      '"max_tokens":null,"max_completion_tokens":9000',
      700,
      { max_tokens: null, max_completion_tokens: 700 },
    ],
    ['replaces null where there is no other', chatWire, '"max_tokens":null', 700, { max_tokens: 700 }],
    [
      'leaves the own limit',
      chatWire,
      '"max_completion_tokens":9000',
      undefined,
      { max_completion_tokens: 9000 },
    ],
    [
      'names it as the provider does',
      chatWire,
      '"max_completion_tokens":9000',
      undefined,
      { max_tokens: 9000 },
      OPENROUTER,
    ],
    ['lowers and names it', chatWire, '"max_completion_tokens": 9000', 700, { max_tokens: 700 }, OPENROUTER],
    [
      'lowers one that is named otherwise where the provider is unknown',
      chatWire,
      '"max_completion_tokens":9000',
      700,
      { max_completion_tokens: 700 },
    ],
    ['completions', completionsWire, '"max_tokens":9000', 700, { max_tokens: 700 }],
    [
      'completions with a limit that most servers ignore',
      completionsWire,
      '"max_completion_tokens":9000',
      700,
      { max_tokens: 700, max_completion_tokens: 700 },
    ],
    [
      'completions with both',
      completionsWire,
      '"max_tokens":9000,"max_completion_tokens":5',
      700,
      { max_tokens: 700, max_completion_tokens: 5 },
    ],
    ['messages', messagesWire, '"max_tokens":32000', 700, { max_tokens: 700 }],
    ['responses', responsesWire, '"max_output_tokens":9000', 700, { max_output_tokens: 700 }],
    ['responses without a limit', responsesWire, '', 700, { max_output_tokens: 700 }],
    ['nothing of compaction', compactWire, '', 700, {}],
    ['nothing of embeddings', embeddingsWire, '', 700, {}],
    [
      'limits reasoning too at Alibaba',
      chatWire,
      '"max_tokens":9000',
      undefined,
      { max_tokens: 9000, max_completion_tokens: 9000 },
      ALIBABA,
    ],
    [
      'and lowers both',
      chatWire,
      '"max_tokens":9000',
      700,
      { max_tokens: 700, max_completion_tokens: 700 },
      ALIBABA,
    ],
    ['and writes the total there', chatWire, '', 700, { max_completion_tokens: 700 }, ALIBABA],
    [
      'and keeps a total that is there',
      chatWire,
      '"max_tokens":300,"max_completion_tokens":9000',
      700,
      { max_tokens: 300, max_completion_tokens: 700 },
      ALIBABA,
    ],
    [
      'and replaces a total of null',
      chatWire,
      '"max_tokens":9000,"max_completion_tokens":null',
      undefined,
      { max_tokens: 9000, max_completion_tokens: 9000 },
      ALIBABA,
    ],
    [
      'and does so for models of Alibaba at OpenRouter',
      chatWire,
      '"max_completion_tokens":9000',
      700,
      { max_completion_tokens: 700 },
      QWEN,
    ],
  ])('%s', (_, wire, limits, limit, expected, host) => {
    expect(sent(wire, limits, limit, host)).toEqual(expected);
  });

  test('knows the hosts of Alibaba by their names', () => {
    const total = (origin: string) =>
      'max_completion_tokens' in sent(chatWire, '"max_tokens":9', undefined, { origin });
    expect(total('https://ws-1.cn-beijing.maas.aliyuncs.com:443')).toBe(true);
    expect(total('https://aliyuncs.com.example')).toBe(false);
    expect(total('https://notaliyuncs.com')).toBe(false);
  });
});
