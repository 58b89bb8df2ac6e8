import { OPEN_BRACKET } from '../../json/bytes.ts';
import { type Member, readValue, skipValue } from '../../json/scan.ts';
import { walkArray } from '../../json/walk.ts';
import type { Fields } from '../request/fields.ts';
import { beyondLimit, choicesPerPrompt, LIMITS, reasoningBudget } from '../request/output-limits.ts';
import { createParser, renameModel, writeLimit } from '../request/parse.ts';
import { promptReader } from '../request/prompt.ts';
import { type BlockReader, type BlockShape, findUnseen, UnboundedInput } from '../request/prompt-blocks.ts';
import type { WireRequest } from '../request/wire-request.ts';
import type { Wire } from '../wire.ts';
import { NON_TEXT, TOOLS } from './chat.ts';
import { CHAT_BLOCKS } from './chat-blocks.ts';
import { choiceAnswers } from './choice-answers.ts';

/**
 * OpenAI's legacy completions: https://platform.openai.com/docs/api-reference/completions/create. OpenRouter also
 * accepts the fields of a chat completion, messages included: https://openrouter.ai/docs/api-reference/overview
 */
export const completionsWire: Wire = {
  endpoint: 'completions',
  family: 'openai',
  path: '/completions',
  ...createParser({
    limits: LIMITS,
    // OpenRouter also accepts max_completion_tokens; other servers ignore it.
    certainLimit: 'max_tokens',
    fields: ['prompt', 'messages', 'n', 'best_of', 'prediction', 'reasoning', 'thinking'],
    usageOnRequest: true,
    beyondLimit,
    reasoningBudget,
    nonText: NON_TEXT,
    tools: TOOLS,
    choices: (fields, bytes) => promptsIn(fields, bytes) * choicesPerPrompt(fields),
  }),
  renameModel,
  limitOutput: (request, tokens) => [
    ...writeLimit(request, ['max_tokens'], 'max_tokens', tokens),
    ...(hasOtherLimit(request) ? writeLimit(request, OTHER_LIMITS, 'max_tokens', tokens) : []),
  ],
  ...choiceAnswers,
  unseenIn: (request) => findUnseen(request, PROMPTS),
  promptOf: promptReader({
    read: new Set(['prompt', 'suffix', 'messages']),
    json: new Set(['tools', 'functions']),
  }),
};

const OTHER_LIMITS = LIMITS.filter((name) => name !== 'max_tokens');
const hasOtherLimit = ({ members }: WireRequest) => members.some(({ key }) => OTHER_LIMITS.includes(key));

const PROMPTS: BlockShape = { ...CHAT_BLOCKS, fields: { ...CHAT_BLOCKS.fields, prompt: readPlainInput } };

/** Number of prompts. Each item of a list is a prompt, but a list of numbers is a single prompt of token ids. */
function promptsIn(fields: Fields, bytes: Buffer): number {
  const prompt = fields.find('prompt');
  if (!prompt || bytes[prompt.start] !== OPEN_BRACKET) return 1;
  let count = 0;
  let areTokens = false;
  walkArray(bytes, prompt.start, (start) => {
    if (count++ === 0) areTokens = START_OF_NUMBER.test(String.fromCharCode(bytes[start] ?? 0));
    return skipValue(bytes, start);
  });
  return areTokens ? 1 : Math.max(1, count);
}

const START_OF_NUMBER = /[-\d]/;

/** Accepts texts, token ids, and lists of them. Anything else may refer to content outside the request. */
export function readPlainInput({ bytes }: BlockReader, member: Member): void {
  const value = readValue(bytes, member);
  if (!isPlain(value) && !(Array.isArray(value) && value.every((each) => isPlain(each) || isTokens(each))))
    throw new UnboundedInput(`an object in "${member.key}"`);
}

const isPlain = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number';
const isTokens = (value: unknown): boolean =>
  Array.isArray(value) && value.every((token) => typeof token === 'number');
