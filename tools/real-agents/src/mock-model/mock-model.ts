import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AnswerFormat } from './answer-format.ts';
import { ChatCompletion, readChatRequest } from './chat-completions.ts';
import { chooseAnswer, type Choice } from './choose-answer.ts';
import type { Conversation } from './conversation.ts';
import { Gates } from './gates.ts';
import { GeneratedContent, readGenerateContent } from './generate-content.ts';
import type { ModelCall } from './model-call.ts';
import type { Part } from './model-script.ts';
import { sendAnswer } from './send-answer.ts';

/** The one model that the endpoint lists; it answers to any name. */
export const MODEL_ID = 'scripted-model';

/** A model endpoint on 127.0.0.1 whose answers ride in the prompts. Disposing it cuts what is under way and frees the port. */
export interface MockModel extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** All calls of the model so far, the oldest first. */
  readonly calls: readonly ModelCall[];
  /** What else was asked for, as `GET /path`; used as a proxy also what was to go elsewhere, as `CONNECT host:443`. */
  readonly strangers: readonly string[];
  /** Lets pass who waits at the gate of that name, now or later. */
  openGate(name: string): void;
}

/**
 * Starts a model endpoint: OpenAI's `GET /v1/models` and streaming `POST /v1/chat/completions`, and Gemini's
 * `POST /v1beta/models/<model>:streamGenerateContent`. Everything else is refused and noted, so an agent that has it for its
 * proxy reaches nothing outside.
 */
export async function startMockModel(): Promise<MockModel> {
  const endpoint = new Endpoint();
  const server = createServer((request, response) => {
    void endpoint.answer(request, response);
  });
  server.on('connect', (request, socket) => {
    endpoint.strangers.push(`CONNECT ${request.url ?? ''}`);
    socket.on('error', () => undefined); // who is refused may hang up before hearing it
    socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n');
  });
  const port = await listen(server);
  return {
    origin: `http://127.0.0.1:${String(port)}`,
    calls: endpoint.calls,
    strangers: endpoint.strangers,
    openGate: (name) => {
      endpoint.gates.open(name);
    },
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => {
        closed.resolve();
      });
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

type CallInProgress = { -readonly [Fact in keyof ModelCall]: ModelCall[Fact] };

class Endpoint {
  readonly gates = new Gates();
  readonly calls: CallInProgress[] = [];
  readonly strangers: string[] = [];

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const gemini = /^\/v1beta\/models\/([\w.-]+):streamGenerateContent\b/.exec(url)?.[1];
    if (method === 'GET' && url === '/v1/models') {
      sendJson(response, 200, {
        object: 'list',
        data: [{ id: MODEL_ID, object: 'model', owned_by: 'test' }],
      });
    } else if (method === 'POST' && url === '/v1/chat/completions') {
      await this.#answerCall(request, response, readChatRequest, chatCompletion);
    } else if (method === 'POST' && gemini !== undefined) {
      const read = (body: unknown): Conversation => readGenerateContent(body, gemini);
      await this.#answerCall(request, response, read, generatedContent);
    } else {
      this.strangers.push(`${method} ${url}`);
      sendError(response, 404, `there is no ${method} ${url}`);
    }
  }

  async #answerCall(
    request: IncomingMessage,
    response: ServerResponse,
    read: (body: unknown) => Conversation,
    formatFor: (model: string) => AnswerFormat,
  ): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => {
      gone.abort();
    });
    let call: CallInProgress | undefined;
    try {
      const conversation = read(JSON.parse(await text(request)));
      const choice = chooseAnswer(conversation);
      const answersBefore = conversation.messages.filter(({ speaker }) => speaker === 'assistant').length;
      call = this.#record(choice, answersBefore);
      if (choice.kind === 'refused') sendError(response, 400, choice.why);
      else await this.#stream(response, call, choice.parts, formatFor(conversation.model), gone.signal);
    } catch (error) {
      if (gone.signal.aborted) {
        if (call !== undefined) call.state = 'cut';
        return;
      }
      const why = error instanceof Error ? error.message : String(error);
      this.#record({ kind: 'refused', why });
      sendError(response, 400, why);
    }
  }

  async #stream(
    response: ServerResponse,
    call: CallInProgress,
    parts: readonly Part[],
    format: AnswerFormat,
    signal: AbortSignal,
  ): Promise<void> {
    await sendAnswer(response, parts, {
      format,
      gates: this.gates,
      signal,
      onText: () => {
        call.textsSent += 1;
      },
      onGate: (waiting) => {
        call.state = waiting ? 'at_gate' : 'answering';
      },
    });
    call.state = 'answered';
  }

  #record(
    choice: Choice | { readonly kind: 'refused'; readonly why: string },
    answersBefore = 0,
  ): CallInProgress {
    const refused = choice.kind === 'refused';
    const call: CallInProgress = {
      kind: choice.kind,
      answer: choice.kind === 'scripted' ? choice.number : 0,
      answersBefore,
      textsSent: 0,
      state: refused ? 'refused' : 'answering',
      why: refused ? choice.why : null,
    };
    this.calls.push(call);
    return call;
  }
}

function chatCompletion(model: string): AnswerFormat {
  return new ChatCompletion({ id: randomUUID(), model, created: Math.floor(Date.now() / 1000) });
}

function generatedContent(model: string): AnswerFormat {
  return new GeneratedContent({ id: randomUUID(), model });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the model endpoint has no port');
  return address.port;
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendError(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { message, type: 'invalid_request_error', param: null, code: null } });
}
