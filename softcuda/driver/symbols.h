/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The symbols of libcuda.so.1 that calls.h lacks. Together they are all that CUDA 13.0's driver
 * exports, and what newer ones are known to add. So a program that resolves every symbol at its
 * start finds them all.
 */
#ifndef SOFTCUDA_DRIVER_SYMBOLS_H
#define SOFTCUDA_DRIVER_SYMBOLS_H

#include <stdbool.h>

/* Whether `name` is `base`, with or without the suffix of a version: _v2, _v3. */
bool sd_is_form_of(const char *name, const char *base);

/*
 * X(symbol, implementation): other names with the same signature: older ones, and those of programs
 * compiled for per-thread default streams (_ptds, _ptsz). In the latter stream 0 is the legacy
 * stream here: its order is stricter, and so correct for programs that expect less order.
 */
#define SD_OTHER_NAMES(X) \
    X(cuCtxCreate, cuCtxCreate_v2) \
    X(cuCtxDestroy, cuCtxDestroy_v2) \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2) \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2) \
    X(cuEventDestroy, cuEventDestroy_v2) \
    X(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams) \
    X(cuGraphUpload_ptsz, cuGraphUpload) \
    X(cuGraphLaunch_ptsz, cuGraphLaunch) \
    X(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags) \
    X(cuEventRecord_ptsz, cuEventRecord) \
    X(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel) \
    X(cuLaunchHostFunc_ptsz, cuLaunchHostFunc) \
    X(cuLaunchKernelEx_ptsz, cuLaunchKernelEx) \
    X(cuLaunchKernel_ptsz, cuLaunchKernel) \
    X(cuMemAllocAsync_ptsz, cuMemAllocAsync) \
    X(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync) \
    X(cuMemFreeAsync_ptsz, cuMemFreeAsync) \
    X(cuMemHostRegister, cuMemHostRegister_v2) \
    X(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync) \
    X(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2) \
    X(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned_v2) \
    X(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2) \
    X(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2) \
    X(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DPeerAsync) \
    X(cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync) \
    X(cuMemcpyBatchAsync_v2_ptsz, cuMemcpyBatchAsync_v2) \
    X(cuMemcpy3DPeer_ptds, cuMemcpy3DPeer) \
    X(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2) \
    X(cuMemcpyAsync_ptsz, cuMemcpyAsync) \
    X(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2) \
    X(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2) \
    X(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2) \
    X(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2) \
    X(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2) \
    X(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2) \
    X(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync) \
    X(cuMemcpyPeer_ptds, cuMemcpyPeer) \
    X(cuMemcpy_ptds, cuMemcpy) \
    X(cuMemsetD16Async_ptsz, cuMemsetD16Async) \
    X(cuMemsetD16_v2_ptds, cuMemsetD16_v2) \
    X(cuMemsetD2D16Async_ptsz, cuMemsetD2D16Async) \
    X(cuMemsetD2D16_v2_ptds, cuMemsetD2D16_v2) \
    X(cuMemsetD2D32Async_ptsz, cuMemsetD2D32Async) \
    X(cuMemsetD2D32_v2_ptds, cuMemsetD2D32_v2) \
    X(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async) \
    X(cuMemsetD2D8_v2_ptds, cuMemsetD2D8_v2) \
    X(cuMemsetD32Async_ptsz, cuMemsetD32Async) \
    X(cuMemsetD32_v2_ptds, cuMemsetD32_v2) \
    X(cuMemsetD8Async_ptsz, cuMemsetD8Async) \
    X(cuMemsetD8_v2_ptds, cuMemsetD8_v2) \
    X(cuStreamAddCallback_ptsz, cuStreamAddCallback) \
    X(cuStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync) \
    X(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2) \
    X(cuStreamCopyAttributes_ptsz, cuStreamCopyAttributes) \
    X(cuStreamDestroy, cuStreamDestroy_v2) \
    X(cuStreamEndCapture_ptsz, cuStreamEndCapture) \
    X(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2) \
    X(cuStreamGetCtx_ptsz, cuStreamGetCtx) \
    X(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2) \
    X(cuStreamGetDevice_ptsz, cuStreamGetDevice) \
    X(cuStreamGetFlags_ptsz, cuStreamGetFlags) \
    X(cuStreamGetId_ptsz, cuStreamGetId) \
    X(cuStreamGetPriority_ptsz, cuStreamGetPriority) \
    X(cuStreamIsCapturing_ptsz, cuStreamIsCapturing) \
    X(cuStreamQuery_ptsz, cuStreamQuery) \
    X(cuStreamSynchronize_ptsz, cuStreamSynchronize) \
    X(cuStreamWaitEvent_ptsz, cuStreamWaitEvent) \
    X(cuStreamWaitValue32, cuStreamWaitValue32_v2) \
    X(cuStreamWaitValue32_ptsz, cuStreamWaitValue32_v2) \
    X(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32_v2) \
    X(cuStreamWaitValue64, cuStreamWaitValue64_v2) \
    X(cuStreamWaitValue64_ptsz, cuStreamWaitValue64_v2) \
    X(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64_v2) \
    X(cuStreamWriteValue32, cuStreamWriteValue32_v2) \
    X(cuStreamWriteValue32_ptsz, cuStreamWriteValue32_v2) \
    X(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2) \
    X(cuStreamWriteValue64, cuStreamWriteValue64_v2) \
    X(cuStreamWriteValue64_ptsz, cuStreamWriteValue64_v2) \
    X(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2)

/* X(symbol): answers CUDA_ERROR_NOT_SUPPORTED. */
#define SD_NOT_SUPPORTED(X) \
    X(cuArray3DCreate) \
    X(cuArray3DCreate_v2) \
    X(cuArray3DGetDescriptor) \
    X(cuArray3DGetDescriptor_v2) \
    X(cuArrayCreate) \
    X(cuArrayCreate_v2) \
    X(cuArrayDestroy) \
    X(cuArrayGetDescriptor) \
    X(cuArrayGetDescriptor_v2) \
    X(cuArrayGetMemoryRequirements) \
    X(cuArrayGetPlane) \
    X(cuArrayGetSparseProperties) \
    X(cuCheckpointProcessCheckpoint) \
    X(cuCheckpointProcessGetRestoreThreadId) \
    X(cuCheckpointProcessGetState) \
    X(cuCheckpointProcessLock) \
    X(cuCheckpointProcessRestore) \
    X(cuCheckpointProcessUnlock) \
    X(cuCoredumpDeregisterCompleteCallback) \
    X(cuCoredumpDeregisterStartCallback) \
    X(cuCoredumpGetAttribute) \
    X(cuCoredumpGetAttributeGlobal) \
    X(cuCoredumpRegisterCompleteCallback) \
    X(cuCoredumpRegisterStartCallback) \
    X(cuCoredumpSetAttribute) \
    X(cuCoredumpSetAttributeGlobal) \
    X(cuCtxAttach) \
    X(cuCtxDetach) \
    X(cuCtxFromGreenCtx) \
    X(cuCtxGetDevResource) \
    X(cuCtxGetExecAffinity) \
    X(cuCtxRecordEvent) \
    X(cuCtxWaitEvent) \
    X(cuDestroyExternalSemaphore) \
    X(cuDevResourceGenerateDesc) \
    X(cuDevSmResourceSplit) \
    X(cuDevSmResourceSplitByCount) \
    X(cuDeviceGetDevResource) \
    X(cuDeviceGetGraphMemAttribute) \
    X(cuDeviceGetHostAtomicCapabilities) \
    X(cuDeviceGetLuid) \
    X(cuDeviceGetNvSciSyncAttributes) \
    X(cuDeviceGetP2PAtomicCapabilities) \
    X(cuDeviceGetProperties) \
    X(cuDeviceGetTexture1DLinearMaxWidth) \
    X(cuDeviceGraphMemTrim) \
    X(cuDeviceRegisterAsyncNotification) \
    X(cuDeviceSetGraphMemAttribute) \
    X(cuDeviceTotalMem) \
    X(cuDeviceUnregisterAsyncNotification) \
    X(cuExternalMemoryGetMappedMipmappedArray) \
    X(cuFlushGPUDirectRDMAWrites) \
    X(cuFuncGetParamCount) \
    X(cuFuncSetBlockShape) \
    X(cuFuncSetSharedSize) \
    X(cuGraphAddBatchMemOpNode) \
    X(cuGraphAddDependencies_v2) \
    X(cuGraphAddExternalSemaphoresSignalNode) \
    X(cuGraphAddExternalSemaphoresWaitNode) \
    X(cuGraphAddMemAllocNode) \
    X(cuGraphAddMemFreeNode) \
    X(cuGraphAddNode) \
    X(cuGraphAddNode_v2) \
    X(cuGraphBatchMemOpNodeGetParams) \
    X(cuGraphBatchMemOpNodeSetParams) \
    X(cuGraphChildGraphNodeGetGraph) \
    X(cuGraphConditionalHandleCreate) \
    X(cuGraphDebugDotPrint) \
    X(cuGraphDestroyNode) \
    X(cuGraphEventRecordNodeGetEvent) \
    X(cuGraphEventRecordNodeSetEvent) \
    X(cuGraphEventWaitNodeGetEvent) \
    X(cuGraphEventWaitNodeSetEvent) \
    X(cuGraphExecBatchMemOpNodeSetParams) \
    X(cuGraphExecChildGraphNodeSetParams) \
    X(cuGraphExecEventRecordNodeSetEvent) \
    X(cuGraphExecEventWaitNodeSetEvent) \
    X(cuGraphExecExternalSemaphoresSignalNodeSetParams) \
    X(cuGraphExecExternalSemaphoresWaitNodeSetParams) \
    X(cuGraphExecGetFlags) \
    X(cuGraphExecGetId) \
    X(cuGraphExecNodeSetParams) \
    X(cuGraphExternalSemaphoresSignalNodeGetParams) \
    X(cuGraphExternalSemaphoresSignalNodeSetParams) \
    X(cuGraphExternalSemaphoresWaitNodeGetParams) \
    X(cuGraphExternalSemaphoresWaitNodeSetParams) \
    X(cuGraphGetEdges_v2) \
    X(cuGraphGetId) \
    X(cuGraphHostNodeGetParams) \
    X(cuGraphHostNodeSetParams) \
    X(cuGraphInstantiate) \
    X(cuGraphInstantiate_v2) \
    X(cuGraphKernelNodeCopyAttributes) \
    X(cuGraphKernelNodeGetParams) \
    X(cuGraphKernelNodeGetParams_v2) \
    X(cuGraphMemAllocNodeGetParams) \
    X(cuGraphMemFreeNodeGetParams) \
    X(cuGraphMemcpyNodeGetParams) \
    X(cuGraphMemcpyNodeSetParams) \
    X(cuGraphMemsetNodeGetParams) \
    X(cuGraphMemsetNodeSetParams) \
    X(cuGraphNodeFindInClone) \
    X(cuGraphNodeGetContainingGraph) \
    X(cuGraphNodeGetDependencies) \
    X(cuGraphNodeGetDependencies_v2) \
    X(cuGraphNodeGetDependentNodes) \
    X(cuGraphNodeGetDependentNodes_v2) \
    X(cuGraphNodeGetEnabled) \
    X(cuGraphNodeGetLocalId) \
    X(cuGraphNodeGetParams) \
    X(cuGraphNodeGetToolsId) \
    X(cuGraphNodeSetParams) \
    X(cuGraphReleaseUserObject) \
    X(cuGraphRemoveDependencies) \
    X(cuGraphRemoveDependencies_v2) \
    X(cuGraphRetainUserObject) \
    X(cuGraphicsMapResources) \
    X(cuGraphicsMapResources_ptsz) \
    X(cuGraphicsResourceGetMappedMipmappedArray) \
    X(cuGraphicsResourceGetMappedPointer) \
    X(cuGraphicsResourceGetMappedPointer_v2) \
    X(cuGraphicsResourceSetMapFlags) \
    X(cuGraphicsResourceSetMapFlags_v2) \
    X(cuGraphicsSubResourceGetMappedArray) \
    X(cuGraphicsUnmapResources) \
    X(cuGraphicsUnmapResources_ptsz) \
    X(cuGraphicsUnregisterResource) \
    X(cuGreenCtxCreate) \
    X(cuGreenCtxDestroy) \
    X(cuGreenCtxGetDevResource) \
    X(cuGreenCtxGetId) \
    X(cuGreenCtxRecordEvent) \
    X(cuGreenCtxStreamCreate) \
    X(cuGreenCtxWaitEvent) \
    X(cuImportExternalSemaphore) \
    X(cuIpcCloseMemHandle) \
    X(cuIpcGetEventHandle) \
    X(cuIpcGetMemHandle) \
    X(cuIpcOpenEventHandle) \
    X(cuIpcOpenMemHandle) \
    X(cuIpcOpenMemHandle_v2) \
    X(cuKernelGetParamCount) \
    X(cuLaunch) \
    X(cuLaunchCooperativeKernelMultiDevice) \
    X(cuLaunchGrid) \
    X(cuLaunchGridAsync) \
    X(cuLibraryGetManaged) \
    X(cuLibraryGetUnifiedFunction) \
    X(cuLinkAddData) \
    X(cuLinkAddFile) \
    X(cuLinkCreate) \
    X(cuLogsCurrent) \
    X(cuLogsDumpToFile) \
    X(cuLogsDumpToMemory) \
    X(cuLogsRegisterCallback) \
    X(cuLogsUnregisterCallback) \
    X(cuMemAdvise_v2) \
    X(cuMemAlloc) \
    X(cuMemAllocHost) \
    X(cuMemAllocPitch) \
    X(cuMemBatchDecompressAsync) \
    X(cuMemBatchDecompressAsync_ptsz) \
    X(cuMemDiscardAndPrefetchBatchAsync) \
    X(cuMemDiscardAndPrefetchBatchAsync_ptsz) \
    X(cuMemDiscardBatchAsync) \
    X(cuMemDiscardBatchAsync_ptsz) \
    X(cuMemFree) \
    X(cuMemGetAccess) \
    X(cuMemGetAddressRange) \
    X(cuMemGetAllocationPropertiesFromHandle) \
    X(cuMemGetDefaultMemPool) \
    X(cuMemGetHandleForAddressRange) \
    X(cuMemGetInfo) \
    X(cuMemGetMemPool) \
    X(cuMemHostGetDevicePointer) \
    X(cuMemMapArrayAsync) \
    X(cuMemMapArrayAsync_ptsz) \
    X(cuMemPoolExportPointer) \
    X(cuMemPoolExportToShareableHandle) \
    X(cuMemPoolImportFromShareableHandle) \
    X(cuMemPoolImportPointer) \
    X(cuMemPrefetchAsync_v2) \
    X(cuMemPrefetchAsync_v2_ptsz) \
    X(cuMemPrefetchBatchAsync) \
    X(cuMemPrefetchBatchAsync_ptsz) \
    X(cuMemRangeGetAttribute) \
    X(cuMemRangeGetAttributes) \
    X(cuMemRetainAllocationHandle) \
    X(cuMemSetMemPool) \
    X(cuMemcpy2D) \
    X(cuMemcpy2DAsync) \
    X(cuMemcpy2DUnaligned) \
    X(cuMemcpy3D) \
    X(cuMemcpy3DAsync) \
    X(cuMemcpy3DBatchAsync) \
    X(cuMemcpy3DBatchAsync_ptsz) \
    X(cuMemcpy3DBatchAsync_v2) \
    X(cuMemcpy3DBatchAsync_v2_ptsz) \
    X(cuMemcpy3DWithAttributesAsync) \
    X(cuMemcpyAtoA) \
    X(cuMemcpyAtoA_v2) \
    X(cuMemcpyAtoA_v2_ptds) \
    X(cuMemcpyAtoD) \
    X(cuMemcpyAtoD_v2) \
    X(cuMemcpyAtoD_v2_ptds) \
    X(cuMemcpyAtoH) \
    X(cuMemcpyAtoHAsync) \
    X(cuMemcpyAtoHAsync_v2) \
    X(cuMemcpyAtoHAsync_v2_ptsz) \
    X(cuMemcpyAtoH_v2) \
    X(cuMemcpyAtoH_v2_ptds) \
    X(cuMemcpyDtoA) \
    X(cuMemcpyDtoA_v2) \
    X(cuMemcpyDtoA_v2_ptds) \
    X(cuMemcpyDtoD) \
    X(cuMemcpyDtoDAsync) \
    X(cuMemcpyDtoH) \
    X(cuMemcpyDtoHAsync) \
    X(cuMemcpyHtoA) \
    X(cuMemcpyHtoAAsync) \
    X(cuMemcpyHtoAAsync_v2) \
    X(cuMemcpyHtoAAsync_v2_ptsz) \
    X(cuMemcpyHtoA_v2) \
    X(cuMemcpyHtoA_v2_ptds) \
    X(cuMemcpyHtoD) \
    X(cuMemcpyHtoDAsync) \
    X(cuMemcpyWithAttributesAsync) \
    X(cuMemsetD16) \
    X(cuMemsetD2D16) \
    X(cuMemsetD2D32) \
    X(cuMemsetD2D8) \
    X(cuMemsetD32) \
    X(cuMemsetD8) \
    X(cuMipmappedArrayCreate) \
    X(cuMipmappedArrayDestroy) \
    X(cuMipmappedArrayGetLevel) \
    X(cuMipmappedArrayGetMemoryRequirements) \
    X(cuMipmappedArrayGetSparseProperties) \
    X(cuModuleGetGlobal) \
    X(cuModuleGetSurfRef) \
    X(cuModuleGetTexRef) \
    X(cuMulticastAddDevice) \
    X(cuMulticastBindAddr) \
    X(cuMulticastBindAddr_v2) \
    X(cuMulticastBindMem) \
    X(cuMulticastBindMem_v2) \
    X(cuMulticastCreate) \
    X(cuMulticastGetGranularity) \
    X(cuMulticastUnbind) \
    X(cuParamSetSize) \
    X(cuParamSetTexRef) \
    X(cuParamSetf) \
    X(cuParamSeti) \
    X(cuParamSetv) \
    X(cuProfilerInitialize) \
    X(cuSignalExternalSemaphoresAsync) \
    X(cuSignalExternalSemaphoresAsync_ptsz) \
    X(cuStreamBatchMemOp) \
    X(cuStreamBatchMemOp_ptsz) \
    X(cuStreamBatchMemOp_v2) \
    X(cuStreamBatchMemOp_v2_ptsz) \
    X(cuStreamBeginCapture) \
    X(cuStreamBeginCaptureToCig) \
    X(cuStreamBeginCaptureToGraph) \
    X(cuStreamBeginCaptureToGraph_ptsz) \
    X(cuStreamBeginCapture_ptsz) \
    X(cuStreamBeginRecaptureToGraph) \
    X(cuStreamEndCaptureToCig) \
    X(cuStreamGetAttribute) \
    X(cuStreamGetAttribute_ptsz) \
    X(cuStreamGetCaptureInfo) \
    X(cuStreamGetCaptureInfo_ptsz) \
    X(cuStreamGetCaptureInfo_v3) \
    X(cuStreamGetCaptureInfo_v3_ptsz) \
    X(cuStreamGetDevResource) \
    X(cuStreamGetGreenCtx) \
    X(cuStreamSetAttribute) \
    X(cuStreamSetAttribute_ptsz) \
    X(cuStreamUpdateCaptureDependencies) \
    X(cuStreamUpdateCaptureDependencies_ptsz) \
    X(cuStreamUpdateCaptureDependencies_v2) \
    X(cuStreamUpdateCaptureDependencies_v2_ptsz) \
    X(cuSurfObjectCreate) \
    X(cuSurfObjectDestroy) \
    X(cuSurfObjectGetResourceDesc) \
    X(cuSurfRefGetArray) \
    X(cuSurfRefSetArray) \
    X(cuTensorMapEncodeIm2col) \
    X(cuTensorMapEncodeIm2colWide) \
    X(cuTensorMapEncodeTiled) \
    X(cuTensorMapReplaceAddress) \
    X(cuTexObjectCreate) \
    X(cuTexObjectDestroy) \
    X(cuTexObjectGetResourceDesc) \
    X(cuTexObjectGetResourceViewDesc) \
    X(cuTexObjectGetTextureDesc) \
    X(cuTexRefCreate) \
    X(cuTexRefDestroy) \
    X(cuTexRefGetAddress) \
    X(cuTexRefGetAddressMode) \
    X(cuTexRefGetAddress_v2) \
    X(cuTexRefGetArray) \
    X(cuTexRefGetBorderColor) \
    X(cuTexRefGetFilterMode) \
    X(cuTexRefGetFlags) \
    X(cuTexRefGetFormat) \
    X(cuTexRefGetMaxAnisotropy) \
    X(cuTexRefGetMipmapFilterMode) \
    X(cuTexRefGetMipmapLevelBias) \
    X(cuTexRefGetMipmapLevelClamp) \
    X(cuTexRefGetMipmappedArray) \
    X(cuTexRefSetAddress) \
    X(cuTexRefSetAddress2D) \
    X(cuTexRefSetAddress2D_v2) \
    X(cuTexRefSetAddress2D_v3) \
    X(cuTexRefSetAddressMode) \
    X(cuTexRefSetAddress_v2) \
    X(cuTexRefSetArray) \
    X(cuTexRefSetBorderColor) \
    X(cuTexRefSetFilterMode) \
    X(cuTexRefSetFlags) \
    X(cuTexRefSetFormat) \
    X(cuTexRefSetMaxAnisotropy) \
    X(cuTexRefSetMipmapFilterMode) \
    X(cuTexRefSetMipmapLevelBias) \
    X(cuTexRefSetMipmapLevelClamp) \
    X(cuTexRefSetMipmappedArray) \
    X(cuUserObjectCreate) \
    X(cuUserObjectRelease) \
    X(cuUserObjectRetain) \
    X(cuWaitExternalSemaphoresAsync) \
    X(cuWaitExternalSemaphoresAsync_ptsz) \
    X(cuEGLStreamConsumerAcquireFrame) \
    X(cuEGLStreamConsumerConnect) \
    X(cuEGLStreamConsumerConnectWithFlags) \
    X(cuEGLStreamConsumerDisconnect) \
    X(cuEGLStreamConsumerReleaseFrame) \
    X(cuEGLStreamProducerConnect) \
    X(cuEGLStreamProducerDisconnect) \
    X(cuEGLStreamProducerPresentFrame) \
    X(cuEGLStreamProducerReturnFrame) \
    X(cuGLCtxCreate) \
    X(cuGLCtxCreate_v2) \
    X(cuGLGetDevices) \
    X(cuGLGetDevices_v2) \
    X(cuGLInit) \
    X(cuGLMapBufferObject) \
    X(cuGLMapBufferObjectAsync) \
    X(cuGLMapBufferObjectAsync_v2) \
    X(cuGLMapBufferObjectAsync_v2_ptsz) \
    X(cuGLMapBufferObject_v2) \
    X(cuGLMapBufferObject_v2_ptds) \
    X(cuGLRegisterBufferObject) \
    X(cuGLSetBufferObjectMapFlags) \
    X(cuGLUnmapBufferObject) \
    X(cuGLUnmapBufferObjectAsync) \
    X(cuGLUnregisterBufferObject) \
    X(cuGraphicsEGLRegisterImage) \
    X(cuGraphicsGLRegisterBuffer) \
    X(cuGraphicsGLRegisterImage) \
    X(cuGraphicsResourceGetMappedEglFrame) \
    X(cuGraphicsVDPAURegisterOutputSurface) \
    X(cuGraphicsVDPAURegisterVideoSurface) \
    X(cuVDPAUCtxCreate) \
    X(cuVDPAUCtxCreate_v2) \
    X(cuVDPAUGetDevice) \
    X(cuEventCreateFromEGLSync)

#endif
