import { isObject } from '../../../json/object.ts';
import { readValue, scanObject } from '../../../json/scan.ts';
import type { CloudRequest } from '../cloud.ts';
import { invokedBody } from './invoke.ts';

/** A model's name in that of an inference profile, plain or in an ARN. */
const FOUNDATION = /(?:^|[./])(anthropic\.claude[\w.:-]*)$/;

/**
 * A count of a messages request as CountTokens takes it; undefined for other requests. It is free, wants the body of
 * InvokeModel, and the name of the foundation model, as it refuses inference profiles; it has no counts of the models
 * that are reached by profiles alone: https://docs.aws.amazon.com/bedrock/latest/userguide/count-tokens.html,
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html,
 * https://github.com/pydantic/pydantic-ai/issues/4001
 */
export function counted(
  request: CloudRequest,
  deployments: Readonly<Record<string, string>> = {},
): CloudRequest | undefined {
  const { body, path } = request;
  if (!body || !path.split('?')[0]?.endsWith('/messages/count_tokens')) return undefined;
  const addressed = invokedBody(request, { max_tokens: leastLimit(body) });
  if (!addressed) return undefined;
  const { model, body: inner } = addressed;
  const name = deployments[model] ?? model;
  const foundation = FOUNDATION.exec(name)?.[1] ?? name;
  return {
    ...request,
    path: `/model/${encodeURIComponent(foundation)}/count-tokens`,
    body: Buffer.from(JSON.stringify({ input: { invokeModel: { body: inner.toString('base64') } } })),
  };
}

/** InvokeModel wants a limit, above that of thoughts. */
function leastLimit(body: Buffer): number {
  const thinking = scanObject(body).find(({ key }) => key === 'thinking');
  const value = thinking && readValue(body, thinking);
  return isObject(value) && typeof value.budget_tokens === 'number' ? value.budget_tokens + 1 : 1;
}
