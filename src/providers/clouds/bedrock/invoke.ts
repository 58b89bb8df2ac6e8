import { headerOf } from '../../../raw-headers.ts';
import type { CloudRequest } from '../cloud.ts';
import { addressedBody } from '../edit-body.ts';

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html */
const VERSION = 'bedrock-2023-05-31';
const REMOVED: ReadonlySet<string> = new Set(['stream']);

/**
 * A messages request for InvokeModel: its path names the model, encoded once, and says whether it streams; the betas of
 * its header are in its body. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
 */
export function invoked(request: CloudRequest): CloudRequest {
  const betas = headerOf(request.headers, 'anthropic-beta')
    ?.split(',')
    .map((beta) => beta.trim());
  const addressed = addressedBody(request.body ?? Buffer.alloc(0), REMOVED, {
    anthropic_version: VERSION,
    ...(betas ? { anthropic_beta: betas } : {}),
  });
  if (!addressed) return request;
  const { model, isStream, body } = addressed;
  const operation = isStream ? 'invoke-with-response-stream' : 'invoke';
  return { ...request, path: `/model/${encodeURIComponent(model)}/${operation}`, body };
}
