import { badRequest } from '../../errors.ts';
import { usageMember } from '../answer/usage.ts';
import { createParser, renameModel } from '../request/parse.ts';
import { promptReader } from '../request/prompt.ts';
import { findUnseen } from '../request/prompt-blocks.ts';
import type { Wire } from '../wire.ts';
import { readPlainInput } from './completions.ts';

const parser = createParser({
  limits: [],
  fields: ['input'],
  // Some providers also embed images.
  nonText: { images: ['image_url', 'image'], context: ['file_id', 'video_url', 'audio_url'] },
  check(fields) {
    if (fields.find('input')) return;
    throw badRequest(
      '"input" is missing: send the text to embed in it',
      'input',
      'missing_required_parameter',
    );
  },
});

const INPUTS = { fields: { input: readPlainInput }, options: new Set<string>() };

/** OpenAI's embeddings: https://platform.openai.com/docs/api-reference/embeddings/create */
export const embeddingsWire: Wire = {
  endpoint: 'embeddings',
  family: 'openai',
  path: '/embeddings',
  // Embeddings have neither output tokens nor streams.
  scan: parser.scan,
  parse: (bytes, scan) => ({
    ...parser.parse(bytes, scan),
    maxOutputTokens: 0,
    limitable: false,
    stream: false,
  }),
  renameModel,
  limitOutput: () => [],
  usageOf: usageMember,
  inspect: (events) => ({ pass: events }),
  textOf: () => [],
  unseenIn: (request) => findUnseen(request, INPUTS),
  promptOf: promptReader({ read: new Set(['input']) }),
};
