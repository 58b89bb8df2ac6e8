import { badRequest } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { modelLimits } from '../../pricing/limits.ts';
import { messagesOfConverse } from '../../translation/apis/converse/read-request.ts';
import { parseObject } from '../../wire/answer/events.ts';

/** Claude needs an output limit: the model's own, or so much where it is unknown. */
const MAX_TOKENS = 4096;
const NEEDS_LIMIT = /claude|^arn:/;

/** A body of Bedrock's Converse as a messages request. Invalid JSON is the parser's to refuse. */
export function converseMessage(bytes: Buffer, model: string): Buffer {
  const body = parseObject(bytes.toString('utf8'));
  if (!body) return bytes;
  const own = () => modelLimits('bedrock', model)?.maxOutputTokens ?? MAX_TOKENS;
  const maxTokens = NEEDS_LIMIT.test(model) ? own() : undefined;
  return Buffer.from(JSON.stringify(messagesOfConverse(body, { model, maxTokens })));
}

/** The message that CountTokens is asked about: a body of Converse, or one of InvokeModel in base64. */
export function countedMessage(bytes: Buffer, model: string): Buffer {
  const body = parseObject(bytes.toString('utf8'));
  const { converse, invokeModel } = isObject(body?.input) ? body.input : {};
  if (isObject(converse)) return converseMessage(Buffer.from(JSON.stringify(converse)), model);
  if (isObject(invokeModel)) return Buffer.from(String(invokeModel.body), 'base64');
  throw badRequest('"input" must have "converse" or "invokeModel"', 'input', 'missing_required_parameter');
}
