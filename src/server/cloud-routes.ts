import { GwError, messageOf, notFound } from '../errors.ts';
import { openFrameEncoder } from '../gateway/answer/aws-frames.ts';
import { complete } from '../gateway/complete.ts';
import type { Exchange } from '../gateway/context/exchange.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { type Addressed, plainMessage } from '../gateway/intake/addressed-message.ts';
import { messagesWire } from '../wire/apis/messages.ts';
import type { Handler, RouteTable } from './routes.ts';

/**
 * Claude as clients of clouds ask for it: Bedrock's InvokeModel
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html), Vertex AI's rawPredict
 * (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude), and the messages API of
 * Foundry and Bedrock.
 */
export function cloudRoutes(gateway: Gateway): RouteTable {
  const answer = (exchange: Exchange, addressed: Addressed): Promise<void> =>
    complete(gateway, messagesWire, exchange, (body) =>
      plainMessage(gateway, addressed, exchange.request, body),
    );
  const invoke =
    (isStream: boolean): Handler =>
    async (exchange, { model = '' }) => {
      if (isStream) exchange.encode = await openFrameEncoder().catch(refuseFrames);
      return answer(exchange, { cloud: 'bedrock', path: { model, isStream } });
    };
  return {
    'POST /model/{model}/invoke': invoke(false),
    'POST /model/{model}/invoke-with-response-stream': invoke(true),
    'POST /v1/projects/{project}/locations/{location}/publishers/anthropic/models/{call...}': async (
      exchange,
      { call = '' },
    ) => {
      const [, model, method] = /^(.+):(rawPredict|streamRawPredict)$/.exec(call) ?? [];
      if (model === undefined || model === 'count-tokens')
        throw notFound(
          `gw has no ${call}. It has MODEL:rawPredict and MODEL:streamRawPredict`,
          'unknown_endpoint',
        );
      return answer(exchange, { cloud: 'vertex', path: { model, isStream: method === 'streamRawPredict' } });
    },
    'POST /anthropic/v1/messages': (exchange) => answer(exchange, { cloud: 'azure' }),
  };
}

function refuseFrames(error: unknown): never {
  throw new GwError(`gw can't write AWS's event streams: ${messageOf(error)}`, {
    status: 400,
    type: 'invalid_request_error',
    code: 'packages_missing',
    cause: error,
  });
}
