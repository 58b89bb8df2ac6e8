import { answerCalls } from '../worker-calls.ts';
import { type CompressRequest, compressRequest } from './compress-request.ts';
import { ConversationCache } from './conversation/conversation-cache.ts';

const cache = new ConversationCache();

/** The worker thread of `createCompressor`. */
answerCalls((request: CompressRequest) => compressRequest(request, cache));
