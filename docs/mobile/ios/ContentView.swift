// A box for a text, a button, and the answer below.

import SwiftUI

@main
struct SampleApp: App {
  var body: some Scene {
    WindowGroup { ContentView() }
  }
}

struct ContentView: View {
  @State private var text = ""
  @State private var answer = ""
  private let classifier = Result { try TextClassifier(folder: Bundle.main.resourceURL!) }

  var body: some View {
    VStack(alignment: .leading) {
      TextField("A text", text: $text, axis: .vertical).textFieldStyle(.roundedBorder)
      Button("Ask", action: ask)
      Text(answer)
    }
    .padding()
  }

  // A call takes milliseconds (docs/mobile.md), so it is made where the button is pressed.
  private func ask() {
    do {
      let found = try classifier.get().answer(text)
      answer = String(format: "%@  %.1f %%", found.label, 100 * found.probability)
    } catch {
      answer = "\(error)"
    }
  }
}
