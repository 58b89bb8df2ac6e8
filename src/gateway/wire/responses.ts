import { badRequest } from '../../errors.ts';
import { promptReader } from './prompt.ts';
import { createParser, renameModel, writeLimit } from './request.ts';
import { inspectResponseEvents, responseText } from './responses-answer.ts';
import { usageMember } from './usage-member.ts';
import type { Wire } from './wire.ts';

const OPEN_BRACKET = 0x5b;
const LIMITS = ['max_output_tokens'];
/** What the provider keeps and reads to the model; each may be as long as the model's context. */
const STORED = ['previous_response_id', 'conversation', 'prompt'];

/** OpenAI's responses: https://platform.openai.com/docs/api-reference/responses/create */
export const responsesWire: Wire = {
  endpoint: 'responses',
  family: 'openai',
  path: '/responses',
  parse: createParser({
    limits: LIMITS,
    reads: ['background'],
    check(fields) {
      if (!fields.boolean('background')) return;
      throw badRequest(
        '"background": true is not possible through gw: the answer would come when nobody accounts for it. Leave it out, and use "stream": true for long answers',
        'background',
        'unsupported_value',
      );
    },
    // Files, earlier items, and tools with which the provider reads in more by itself.
    unseen: {
      images: ['input_image', 'computer_screenshot', 'image_generation_call'],
      context: ['input_file', 'item_reference', 'web_search*', 'file_search', 'code_interpreter', 'mcp'],
    },
    stored: STORED,
  }),
  renameModel,
  limitOutput: (request, tokens) => writeLimit(request, LIMITS, 'max_output_tokens', tokens),
  usageOf: usageMember,
  inspect: inspectResponseEvents,
  textOf: responseText,
  form: 'responses',
  messagesOf: ({ bytes, members }) =>
    members.find(({ key, start }) => key === 'input' && bytes[start] === OPEN_BRACKET),
  promptOf: promptReader({
    read: new Set(['input', 'instructions']),
    json: new Set(['tools', 'text']),
    stored: new Set(STORED),
    fetching: /"type":\s*"(web_search|file_search|code_interpreter|mcp)/,
  }),
};

/** A conversation made shorter, as Codex asks for when its context is full. The API takes no limit of its output. */
export const compactWire: Wire = {
  ...responsesWire,
  endpoint: 'responses/compact',
  path: '/responses/compact',
  parse: (bytes) => ({ ...responsesWire.parse(bytes), limitable: false }),
  limitOutput: () => [],
};
