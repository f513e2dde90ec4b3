// SentencePiece behind C. Invariant: no exception leaves a function of spm.h.
#include "spm.h"

#include <sentencepiece_processor.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

struct mt_spm {
    sentencepiece::SentencePieceProcessor processor;
};

// Run work(), which returns what spm.h promises, and turn exceptions into messages.
template <typename Work>
static int guarded(char *message, size_t room, Work work)
{
    try {
        return work();
    } catch (const std::exception &e) {
        std::snprintf(message, room, "%s", e.what());
    } catch (...) {
        std::snprintf(message, room, "unknown exception");
    }
    return MT_SPM_FAILED;
}

static int failed(const sentencepiece::util::Status &status, char *message, size_t room)
{
    std::snprintf(message, room, "%s", status.error_message());
    return MT_SPM_FAILED;
}

mt_spm *mt_spm_open(const char *bytes, size_t size, char *message, size_t room)
{
    mt_spm *out = nullptr;
    guarded(message, room, [&] {
        std::unique_ptr<mt_spm> spm(new mt_spm);
        auto status = spm->processor.LoadFromSerializedProto({bytes, size});
        if (!status.ok()) return failed(status, message, room);
        out = spm.release();
        return 0;
    });
    return out;
}

void mt_spm_close(mt_spm *spm)
{
    delete spm;
}

int mt_spm_encode(const mt_spm *spm, const char *text, size_t length, mt_spm_fn fn, void *user, char *message, size_t room)
{
    return guarded(message, room, [&] {
        std::vector<std::string> pieces;
        auto status = spm->processor.Encode({text, length}, &pieces);
        if (!status.ok()) return failed(status, message, room);
        int result = 0;
        for (size_t i = 0; result == 0 && i < pieces.size(); i++) result = fn(user, pieces[i].data(), pieces[i].size());
        return result;
    });
}

int mt_spm_decode(const mt_spm *spm, size_t n, const char *const *piece, const size_t *length, mt_spm_fn fn, void *user,
                  char *message, size_t room)
{
    return guarded(message, room, [&] {
        std::vector<std::string> pieces;
        std::string text;
        for (size_t i = 0; i < n; i++) pieces.emplace_back(piece[i], length[i]);
        auto status = spm->processor.Decode(pieces, &text);
        return status.ok() ? fn(user, text.data(), text.size()) : failed(status, message, room);
    });
}
