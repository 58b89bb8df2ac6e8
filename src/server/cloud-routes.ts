import { GwError, messageOf, notFound } from '../errors.ts';
import { openFrameEncoder } from '../gateway/answer/aws-frames.ts';
import { complete } from '../gateway/complete.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { messagesWire } from '../wire/apis/messages.ts';
import type { Handler, RouteTable } from './routes.ts';

/**
 * Claude as clients of clouds ask for it: Bedrock's InvokeModel
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html) and Vertex AI's rawPredict
 * (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude).
 */
export function cloudRoutes(gateway: Gateway): RouteTable {
  const invoke =
    (isStream: boolean): Handler =>
    async (exchange, { model = '' }) => {
      exchange.addressed = { cloud: 'bedrock', model, isStream };
      if (isStream) exchange.encode = await openFrameEncoder().catch(refuseFrames);
      return complete(gateway, messagesWire, exchange);
    };
  return {
    'POST /model/{model}/invoke': invoke(false),
    'POST /model/{model}/invoke-with-response-stream': invoke(true),
    'POST /v1/projects/{project}/locations/{location}/publishers/anthropic/models/{call}': async (
      exchange,
      { call = '' },
    ) => {
      const [, model, method] = /^(.+):(rawPredict|streamRawPredict)$/.exec(call) ?? [];
      if (model === undefined || model === 'count-tokens')
        throw notFound(
          `gw has no ${call}. It has MODEL:rawPredict and MODEL:streamRawPredict`,
          'unknown_endpoint',
        );
      exchange.addressed = { cloud: 'vertex', model, isStream: method === 'streamRawPredict' };
      return complete(gateway, messagesWire, exchange);
    },
  };
}

function refuseFrames(error: unknown): never {
  throw new GwError(`gw can't write AWS's event streams: ${messageOf(error)}`, {
    status: 501,
    type: 'api_error',
    code: 'packages_missing',
    cause: error,
  });
}
