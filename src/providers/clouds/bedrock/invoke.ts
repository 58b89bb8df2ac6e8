import { betasOf } from '../betas.ts';
import type { CloudRequest } from '../cloud.ts';
import { type AddressedBody, addressedBody } from '../edit-body.ts';

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html */
const VERSION = 'bedrock-2023-05-31';
const REMOVED: ReadonlySet<string> = new Set(['stream']);

/**
 * The body of a messages request as InvokeModel takes it: without model and stream, and with the betas of its header.
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
 */
export function invokedBody(
  request: CloudRequest,
  added: Readonly<Record<string, unknown>> = {},
): AddressedBody | undefined {
  const betas = betasOf(request);
  return addressedBody(request.body ?? Buffer.alloc(0), REMOVED, {
    anthropic_version: VERSION,
    ...(betas.length > 0 ? { anthropic_beta: betas } : {}),
    ...added,
  });
}

/** A messages request for InvokeModel, whose path names the model, encoded once, and says whether it streams. */
export function invoked(request: CloudRequest): CloudRequest {
  const addressed = invokedBody(request);
  if (!addressed) return request;
  const { model, isStream, body } = addressed;
  const operation = isStream ? 'invoke-with-response-stream' : 'invoke';
  return { ...request, path: `/model/${encodeURIComponent(model)}/${operation}`, body };
}
