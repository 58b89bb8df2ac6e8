import { GwError, messageOf, notFound } from '../errors.ts';
import {
  countWriter,
  createConverseWriter,
  invokeWriter,
  openStreamEnvelope,
  wholeEnvelope,
} from '../gateway/answer/aws-envelope.ts';
import { complete } from '../gateway/complete.ts';
import type { Exchange } from '../gateway/context/exchange.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import {
  type Addressed,
  deployedBody,
  plainMessage,
  setJsonType,
} from '../gateway/intake/addressed-message.ts';
import { converseMessage, countedMessage } from '../gateway/intake/converse-message.ts';
import { passThrough } from '../gateway/pass-through/pass-through.ts';
import { countBody } from '../providers/token-count.ts';
import { chatWire } from '../wire/apis/chat.ts';
import { completionsWire } from '../wire/apis/completions.ts';
import { embeddingsWire } from '../wire/apis/embeddings.ts';
import { messagesWire } from '../wire/apis/messages.ts';
import type { Wire } from '../wire/wire.ts';
import type { Handler, RouteTable } from './routes.ts';

/**
 * Claude as clients of clouds ask for it: Bedrock's InvokeModel and Converse
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html), Vertex AI's rawPredict
 * (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude), and the messages API of
 * Foundry and Bedrock; and the dated API of Azure OpenAI, whose paths name deployments
 * (https://learn.microsoft.com/azure/ai-services/openai/reference).
 */
export function cloudRoutes(gateway: Gateway): RouteTable {
  const answer = (
    exchange: Exchange,
    addressed: Addressed,
    inMessages = (body: Buffer): Buffer => body,
  ): Promise<void> =>
    complete(gateway, messagesWire, exchange, (body) =>
      plainMessage(gateway, addressed, exchange.request, inMessages(body)),
    );
  const count = (
    exchange: Exchange,
    addressed: Addressed,
    inMessages = (body: Buffer): Buffer => body,
  ): Promise<void> =>
    passThrough(gateway, exchange, {
      asBody(body) {
        const message = plainMessage(gateway, addressed, exchange.request, inMessages(body));
        return countBody(message) ?? message;
      },
    });
  const bedrock =
    (operation: 'invoke' | 'converse', isStream: boolean): Handler =>
    async (exchange, { model = '' }) => {
      const writer =
        operation === 'invoke'
          ? invokeWriter
          : createConverseWriter(() => gateway.clock.monotonic() - exchange.startedAt);
      exchange.envelope = isStream
        ? await openStreamEnvelope(writer).catch(refuseFrames)
        : wholeEnvelope(writer);
      const inMessages =
        operation === 'converse' ? (body: Buffer) => converseMessage(body, model) : undefined;
      setJsonType(exchange.request);
      return answer(exchange, { cloud: 'bedrock', path: { model, isStream } }, inMessages);
    };
  const deployed =
    (wire: Wire): Handler =>
    (exchange, { deployment = '' }) => {
      // The API of `/openai/v1` refuses the versions of the dated one.
      const account = [...gateway.providers().values()].find(({ knownAs }) => knownAs === 'azure');
      if (!account || account.basePath.endsWith('/v1')) exchange.target = { ...exchange.target, query: '' };
      return complete(gateway, wire, exchange, (body) => deployedBody(gateway, deployment, body));
    };
  return {
    'POST /openai/deployments/{deployment}/chat/completions': deployed(chatWire),
    'POST /openai/deployments/{deployment}/completions': deployed(completionsWire),
    'POST /openai/deployments/{deployment}/embeddings': deployed(embeddingsWire),
    'POST /model/{model}/invoke': bedrock('invoke', false),
    'POST /model/{model}/invoke-with-response-stream': bedrock('invoke', true),
    'POST /model/{model}/converse': bedrock('converse', false),
    'POST /model/{model}/converse-stream': bedrock('converse', true),
    'POST /model/{model}/count-tokens': (exchange, { model = '' }) => {
      exchange.envelope = wholeEnvelope(countWriter);
      return count(exchange, { cloud: 'bedrock', path: { model, isStream: false } }, (body) =>
        countedMessage(body, model),
      );
    },
    'POST /v1/projects/{project}/locations/{location}/publishers/anthropic/models/{call...}': async (
      exchange,
      { call = '' },
    ) => {
      if (call === 'count-tokens:rawPredict') return count(exchange, { cloud: 'vertex' });
      const [, model, method] = /^(.+):(rawPredict|streamRawPredict)$/.exec(call) ?? [];
      if (model === undefined)
        throw notFound(
          `gw has no ${call}. It has MODEL:rawPredict, MODEL:streamRawPredict and count-tokens:rawPredict`,
          'unknown_endpoint',
        );
      return answer(exchange, { cloud: 'vertex', path: { model, isStream: method === 'streamRawPredict' } });
    },
    'POST /anthropic/v1/messages': (exchange) => answer(exchange, { cloud: 'azure' }),
    'POST /anthropic/v1/messages/count_tokens': (exchange) => count(exchange, { cloud: 'azure' }),
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
