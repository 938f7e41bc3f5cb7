// A browser starts no worker for pages that are opened as files. There the script of the search
// runs in a hidden frame instead, with a worker's two ends: postMessage here, postMessage in it.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><body>");
      inside.document.close();
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      // Messages that are sent before the script listens wait for it.
      this.listening = new Promise((resolve) => script.addEventListener("load", resolve));
      this.inside = inside;
      script.src = url;
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.listening.then(() =>
        this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}
