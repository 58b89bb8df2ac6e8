import { answerCalls } from '../worker-calls.ts';
import { type CompressRequest, compressRequest } from './compress-request.ts';
import { ConversationCache } from './conversation/conversation.ts';
import { TurnCache } from './turns/turn-cache.ts';

const caches = { turns: new TurnCache(), conversations: new ConversationCache() };

/** The worker thread of `createCompressor`. */
answerCalls((request: CompressRequest) => compressRequest(request, caches));
