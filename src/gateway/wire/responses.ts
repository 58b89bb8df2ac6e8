import { badRequest } from '../../errors.ts';
import type { Fields } from './fields.ts';
import { promptReader } from './prompt.ts';
import { createParser, renameModel, writeLimit } from './request.ts';
import { inspectResponseEvents, responseText } from './responses-answer.ts';
import { countMarks, NOTHING_UNSEEN, type Unseen } from './unseen.ts';
import { usageMember } from './usage-member.ts';
import type { Wire } from './wire.ts';

const LIMITS = ['max_output_tokens'];
/** What the provider keeps and reads to the model; each may be as long as the model's context. */
const STORED = ['previous_response_id', 'conversation', 'prompt'];

/** OpenAI's responses: https://platform.openai.com/docs/api-reference/responses/create */
export const responsesWire: Wire = {
  endpoint: 'responses',
  family: 'openai',
  path: '/responses',
  // The last event repeats the whole answer, images included.
  maxEventBytes: 16 * 1024 * 1024,
  parse: createParser({
    limits: LIMITS,
    reads: ['background', ...STORED],
    check(fields) {
      if (!fields.boolean('background')) return;
      throw badRequest(
        '"background": true is not possible through gw: the answer would come when nobody accounts for it. Leave it out, and use "stream": true for long answers',
        'background',
        'unsupported_value',
      );
    },
    unseen: unseenOf,
  }),
  renameModel,
  limitOutput: (request, tokens) => writeLimit(request, LIMITS, 'max_output_tokens', tokens),
  usageOf: usageMember,
  inspect: inspectResponseEvents,
  textOf: responseText,
  promptOf: promptReader({
    read: new Set(['input', 'instructions']),
    json: new Set(['tools', 'text']),
    stored: new Set(STORED),
  }),
};

const IMAGE = Buffer.from('"input_image"');
const FILE = Buffer.from('"input_file"');
const REFERENCE = Buffer.from('"item_reference"');

function unseenOf(fields: Fields, bytes: Buffer): Unseen {
  const images = countMarks(bytes, IMAGE);
  const context =
    STORED.some((key) => fields.read(key) !== undefined) ||
    bytes.indexOf(FILE) >= 0 ||
    bytes.indexOf(REFERENCE) >= 0;
  return images === 0 && !context ? NOTHING_UNSEEN : { images, context };
}
