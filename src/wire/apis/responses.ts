import { badRequest } from '../../errors.ts';
import { type Member, scanArray, scanObject } from '../../json/scan.ts';
import {
  hasResponseContent,
  inspectResponseEvents,
  responseText,
  responseUsage,
} from '../answer/responses.ts';
import { endResponseAtLimit } from '../answer/responses-ending.ts';
import { choicesPerPrompt } from '../request/output-limits.ts';
import { createParser, renameModel, writeLimit } from '../request/parse.ts';
import { promptReader } from '../request/prompt.ts';
import { findUnseen, splitPrompt } from '../request/prompt-blocks.ts';
import { reasoningBeyondLimit, reasoningBudget } from '../request/reasoning-budget.ts';
import type { Wire } from '../wire.ts';
import { RESPONSE_BLOCKS } from './responses-blocks.ts';

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const LIMITS = ['max_output_tokens'];
/** Fields that add stored input; each may fill the model's context. */
const STORED = ['previous_response_id', 'conversation', 'prompt', 'context_management'];
const CALL_LIMIT = 'max_tool_calls';

const TOOLS = Buffer.from('"tools"');

/** The lists of tools in items of the conversation: https://platform.openai.com/docs/guides/tools */
function additionalTools(bytes: Buffer, members: Member[]): { start: number }[] {
  const input = members.find(({ key }) => key === 'input');
  if (!input || bytes[input.start] !== OPEN_BRACKET) return [];
  const text = bytes.subarray(input.start, input.end);
  if (text.indexOf(TOOLS) < 0) return [];
  return scanArray(bytes, input.start).flatMap(({ start, end }) => {
    if (bytes[start] !== OPEN_BRACE) return [];
    return scanObject(bytes.subarray(start, end)).flatMap((member) =>
      member.key === 'tools' ? [{ start: start + member.start }] : [],
    );
  });
}

/** OpenAI's responses: https://platform.openai.com/docs/api-reference/responses/create */
export const responsesWire: Wire = {
  endpoint: 'responses',
  family: 'openai',
  path: '/responses',
  ...createParser({
    limits: LIMITS,
    leastLimit: 16,
    // Hosts that bridge to chats take their fields as well.
    fields: ['background', 'reasoning', 'thinking', 'n', 'best_of'],
    beyondLimit: (fields) => reasoningBeyondLimit(fields, LIMITS) || undefined,
    reasoningBudget,
    choices: choicesPerPrompt,
    check(fields) {
      if (!fields.boolean('background')) return;
      throw badRequest(
        '"background": true is not supported: gw could not book an answer that is fetched later. Remove the field, and use "stream": true for long answers',
        'background',
        'unsupported_value',
      );
    },
    // Files, earlier items, and tools that make the provider add input.
    nonText: {
      images: ['input_image', 'computer_screenshot', 'image_generation_call'],
      // biome-ignore format: related markers share a line
      context: [
        'input_file', 'item_reference', 'web_search*', 'file_search', 'code_interpreter', 'mcp',
        'x_search', 'collections_search', 'image_generation', 'google*',
      ],
    },
    stored: STORED,
    tools: {
      limit: 'all',
      // A stored prompt may enable any tool.
      fields: { prompt: 'prompt', plugins: 'plugins' },
      limitField: CALL_LIMIT,
      moreLists: additionalTools,
    },
  }),
  renameModel,
  limitOutput: (request, tokens) => writeLimit(request, LIMITS, 'max_output_tokens', tokens),
  limitCalls: (request, calls) =>
    (calls === 0 ? request.serverTools?.removal : undefined) ??
    writeLimit(request, [CALL_LIMIT], CALL_LIMIT, calls),
  usageOf: responseUsage,
  inspect: inspectResponseEvents,
  endAtLimit: endResponseAtLimit,
  hasContent: hasResponseContent,
  isOver: () => false,
  textOf: responseText,
  form: 'responses',
  messagesOf: ({ bytes, members }) =>
    members.find(({ key, start }) => key === 'input' && bytes[start] === OPEN_BRACKET),
  unseenIn: (request) => findUnseen(request, RESPONSE_BLOCKS),
  blocksOf: (request, earlier) => splitPrompt(request, RESPONSE_BLOCKS, earlier),
  promptOf: promptReader({
    read: new Set(['input', 'instructions']),
    json: new Set(['tools', 'text']),
    stored: new Set(STORED),
  }),
};

/** Compacts a conversation; Codex uses it when its context is full. The API has no output limit. */
export const compactWire: Wire = {
  ...responsesWire,
  endpoint: 'responses/compact',
  path: '/responses/compact',
  parse: (bytes, scan) => ({ ...responsesWire.parse(bytes, scan), limitable: false }),
  limitOutput: () => [],
  // Its usage is that of a compaction.
  blocksOf: () => undefined,
};
